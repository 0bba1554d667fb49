/* Secrets in free text: what goes, what stays. */
#include "check.h"

#include <math.h>
#include <time.h>

#include "redact/redact.h"

#define GONE  "(redacted)"
#define TOKEN "hf_abcDEF0123456789abc"

static const struct {
    const char *text, *wanted;
} cases[] = {
    {"", ""},
    {"python train.py --epochs 3", "python train.py --epochs 3"},
    {"HF_TOKEN=abc python", "HF_TOKEN=" GONE " python"},
    {"--hub-token abc --x 1", "--hub-token " GONE " --x 1"},
    {"--hub_token=abc --x 1", "--hub_token=" GONE " --x 1"},
    {"--password --x 1", "--password --x 1"},
    {"{\"api_key\": \"abc\", \"b\": 1}", "{\"api_key\": \"" GONE "\", \"b\": 1}"},
    {"{\\\"api_key\\\": \\\"abc\\\"}", "{\\\"api_key\\\": \\\"" GONE "\\\"}"},
    {"Authorization: Bearer abc.def", "Authorization: " GONE},
    {"curl -H 'Bearer abc.def'", "curl -H 'Bearer " GONE "'"},
    {"https://me:word@host/x", "https://" GONE "@host/x"},
    {"https://host:80/a@b", "https://host:80/a@b"},
    {"used " TOKEN " today", "used " GONE " today"},
    {TOKEN, GONE},
    {"hf_short", "hf_short"},
    /* without a digit, a quarter of the letters is of the rarer case, as chance has it */
    {"hf_ABCDEFGHIJKLMNOabcde", GONE},
    {"hf_ABCDEFGHIJKLMNOPabcd", "hf_ABCDEFGHIJKLMNOPabcd"},
    {"hf_ABCDEabcdefghijklmno", GONE},
    {"hf_ABCDabcdefghijklmnop", "hf_ABCDabcdefghijklmnop"},
    {"max_tokens=128 tokens: 4", "max_tokens=128 tokens: 4"},
    {"author=me", "author=me"},
    {"flash::token::decode<int>", "flash::token::decode<int>"},
    {"Token embedding 5", "Token embedding 5"},
    {"TOKEN=" GONE, "TOKEN=" GONE},
    {"TOKEN=a;SECRET=b", "TOKEN=" GONE ";SECRET=" GONE},
    {"AKIAIOSFODNN7EXAMPLE", GONE},
    /* one of each shape; those that must stay are told by the lines after them */
    {"key: -----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY----- x",
     "key: " GONE " x"},
    {"-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blb", GONE},
    {"-----BEGIN CERTIFICATE-----\nMIIabc", "-----BEGIN CERTIFICATE-----\nMIIabc"},
    {"DefaultEndpointsProtocol=https;AccountName=a;AccountKey=aBc/def==;x=1",
     "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=" GONE ";x=1"},
    {"https://hooks.slack.com/services/T000/B000/XXXX", "https://hooks.slack.com/" GONE},
    {"https://discord.com/api/webhooks/12/abc", "https://discord.com/api/webhooks/" GONE},
    {"https://a.blob.core.windows.net/c/b?sv=2022&sig=ab%2Bcd%3D&se=1",
     "https://a.blob.core.windows.net/c/b?sv=2022&sig=" GONE "&se=1"},
    {"https://b.s3.amazonaws.com/k?X-Amz-Signature=0a1b&x=1",
     "https://b.s3.amazonaws.com/k?X-Amz-Signature=" GONE "&x=1"},
    {"the sig=3 of it", "the sig=3 of it"},
    {"mysql -u me -phunter2 db", "mysql -u me -p" GONE " db"},
    {"mysql -p db", "mysql -p db"},
    {"/usr/bin/mysqldump -p'hun ter' db", "/usr/bin/mysqldump -p'" GONE "' db"},
    {"mariadb -phunter2", "mariadb -p" GONE},
    {"sshpass -p hunter2 ssh me@host", "sshpass -p " GONE " ssh me@host"},
    {"curl -s -u me:word https://host/x", "curl -s -u " GONE " https://host/x"},
    {"redis-cli -a hunter2 ping", "redis-cli -a " GONE " ping"},
    {"mkdir -p folder", "mkdir -p folder"},
    {"DB_PASS=abc SMTP_PWD=def", "DB_PASS=" GONE " SMTP_PWD=" GONE},
    {"forward_pass=fused PWD=/home/me", "forward_pass=fused PWD=/home/me"},
    {"GOCSPX-abcdefghij0123456789ab", GONE},
    {"sk_live_abcDEF0123456789", GONE},
    {"rk_live_abcDEF0123456789", GONE},
    {"sk_test_abcDEF0123456789", GONE},
    {"ghu_abcdefghijklmnopqrst0123456789abcdef", GONE},
    {"ghr_abcdefghijklmnopqrst0123456789abcdef", GONE},
    {"xapp-1-A0B1C2D3E4-123456", GONE},
    {"glsa_abcdefghijklmnopqrst0123456789", GONE},
    {"hvs.CAESIabcdefghij0123456789", GONE},
    {"git clone https://abcdefghijklmnop0123456789@host/x", "git clone https://" GONE "@host/x"},
    {"https://git@host/x", "https://git@host/x"},
    {"cache_key=Zm9vYmFyQmF6UXV4MTIzNDU2", "cache_key=" GONE},
    {"cache_key=0f1e2d3c4b5a69788796a5b4c3d2e1f0", "cache_key=0f1e2d3c4b5a69788796a5b4c3d2e1f0"},
    {"monkey=volta_sgemm_128x64_nn", "monkey=volta_sgemm_128x64_nn"},
    /* where a value ends */
    {"--password 'it;s, a pass' -x", "--password '" GONE "' -x"},
    {"'--password=p$ss,w0rd;x&y' -x", "'--password=" GONE "' -x"},
    {"'DB_PASS=it'\\''s a pass' -x", "'DB_PASS=" GONE "' -x"},
    {"sh -c 'DB_PASS=abc train --lr 3'", "sh -c 'DB_PASS=" GONE " train --lr 3'"},
    {"password=a(b)c]d}", "password=" GONE "}"},
    {"f(token=abc1, x=2)", "f(token=" GONE ", x=2)"},
    {"password=a\\b9", "password=" GONE},
    {"a: token: abc\\nb: 2", "a: token: " GONE "\\nb: 2"},
    {"{\"private_key\": \"-----BEGIN PRIVATE KEY-----\\nMIIa\\n-----END PRIVATE KEY-----\\n\", "
     "\"x\": 1}",
     "{\"private_key\": \"" GONE "\", \"x\": 1}"},
    {"-H 'Cookie: a=b; session=c' https://host", "-H 'Cookie: " GONE "' https://host"},
    {"Authorization: token abc and more", "Authorization: " GONE " and more"},
    {"Authorization: Digest username=\"me\", response=\"ab\"\nx", "Authorization: " GONE "\nx"},
    {"<password>a b</password>", "<password>" GONE "</password>"},
    {"token%3Dabc&x=1", "token%3D" GONE "&x=1"},
    {"\\n" TOKEN " %20" TOKEN " x-" TOKEN, "\\n" GONE " %20" GONE " x-" GONE},
    /* whose password, and which user */
    {"DBPASS=abc --db-pass abc --pass abc", "DBPASS=" GONE " --db-pass " GONE " --pass " GONE},
    {"--passes 3 --bypass=1 --pwd /home/me attn_pass=2",
     "--passes 3 --bypass=1 --pwd /home/me attn_pass=2"},
    {"a=1;Pwd=abc;PWD=/home/me", "a=1;Pwd=" GONE ";PWD=/home/me"},
    {"postgresql://me:a@b@host/db", "postgresql://" GONE "@host/db"},
    {"postgresql://me:a/b@host/db", "postgresql://" GONE "@host/db"},
    {"redis://:abc@host:80/0", "redis://" GONE "@host:80/0"},
    {"https://host/?mail=somebody.with.a.name@host",
     "https://host/?mail=somebody.with.a.name@host"},
    {"KAGGLE_KEY=0f1e2d3c4b5a6978 KEY_DIM=64", "KAGGLE_KEY=" GONE " KEY_DIM=64"},
    {"--n_token=128 --eos_token '</s>' --use-auth true",
     "--n_token=128 --eos_token '</s>' --use-auth true"},
    {"docker login -u me -p abc host", "docker login -u me -p " GONE " host"},
    {"docker run -p 8080:80 image", "docker run -p 8080:80 image"},
    {"sk-resnet50_batch128_amp_bf16_run12", "sk-resnet50_batch128_amp_bf16_run12"},
    {"hf_BertForSequenceClassificationHead", "hf_BertForSequenceClassificationHead"},
};

static void takes_secrets_out(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_buf out;
        nl_buf_init(&out, 4096);
        check_case(cases[i].text);
        size_t count = nl_redact_text(&out, nl_str(cases[i].text));
        CHECK_TEXT(out.ptr ? out.ptr : "", cases[i].wanted);
        CHECK((count > 0) == (strcmp(cases[i].text, cases[i].wanted) != 0));
        nl_buf_release(&out);
    }
}

/* What was redacted once stays as it is. */
static void redacts_once(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_buf out;
        nl_buf_init(&out, 4096);
        check_case(cases[i].wanted);
        CHECK_INT(nl_redact_text(&out, nl_str(cases[i].wanted)), 0);
        nl_buf_release(&out);
    }
}

/* Names of events: what is no secret there, and what is one everywhere. */
static const struct {
    const char *text, *wanted; /* NULL = stays */
} names[] = {
    {"aten::mm", NULL},
    {"void flash::token::decode<int, 4>(token: int)", NULL},
    {"%token = token[] after-all()", NULL},
    {"decode n_token=128", NULL},
    {"per_token: 0.5e-3 s", NULL},
    {"Basic Block 3", NULL},
    {"hf_llama_decoder_layer_12_forward", NULL},
    {"ghs_attention_kernel_bf16_128x128", NULL},
    {"npm_0123456789/0123456789/0123456789", NULL},
    {"_ZN5flash16token_dispatch_kernelIfLi128EEEvPKT_", NULL},
    {"load " TOKEN, "load " GONE},
    {"fetch Authorization: Bearer abcdef012 and go", "fetch Authorization: " GONE " and go"},
    {"login password=hunter2", "login password=" GONE},
    {"GET https://me:word1@host/x", "GET https://" GONE "@host/x"},
    {"GET https://host/c?sig=ab%2Bcd%3D&se=1", "GET https://host/c?sig=" GONE "&se=1"},
};

static void leaves_names_alone(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(names); i++) {
        struct nl_buf out;
        nl_buf_init(&out, 4096);
        check_case(names[i].text);
        CHECK_INT((int64_t)nl_redact_name(&out, nl_str(names[i].text)), names[i].wanted ? 1 : 0);
        CHECK_TEXT(out.ptr ? out.ptr : "", names[i].wanted ? names[i].wanted : "");
        nl_buf_release(&out);
    }
}

/* An absent text has no bytes at all. */
static void nothing_is_nothing(void)
{
    struct nl_buf out;
    nl_buf_init(&out, 4096);
    CHECK_INT((int64_t)nl_redact_text(&out, (struct nl_str){NULL, 0}), 0);
    CHECK_INT((int64_t)nl_redact_name(&out, (struct nl_str){NULL, 0}), 0);
    CHECK_INT((int64_t)out.len, 0);
    nl_buf_release(&out);
}

/* Texts are first read in steps for parts of secrets: each kind is seen wherever it lies. */
static const char *const secrets[] = {
    "token=a1b2c3",
    "secret=a1b2c3",
    "Password=a1b2c3",
    "PASSWD=a1b2c3",
    "passphrase=a1b2c3",
    "credential=a1b2c3",
    "CREDENTIALS=a1b2c3",
    "api_key=a1b2c3",
    "ApiKey=a1b2c3",
    "access-key=a1b2c3",
    "private_key=a1b2c3",
    "access_key_id=a1b2c3",
    "auth=a1b2c3",
    "Authorization=a1b2c3",
    "Cookie=a1b2c3",
    "Bearer a1b2c3a1b2c3a1b2c3",
    "basic a1b2c3a1b2c3a1b2c3",
    "x://me:word1@host",
    TOKEN,
    "ghp_abcDEF0123456789abcdef",
    "gho_abcDEF0123456789abcdef",
    "ghs_abcDEF0123456789abcdef",
    "github_pat_abcDEF0123456789abcdef",
    "glpat-abcDEF0123456789abcdef",
    "xoxb-abcDEF0123456789abcdef",
    "xoxp-abcDEF0123456789abcdef",
    "AKIAabcDEF0123456789abcdef",
    "ASIAabcDEF0123456789abcdef",
    "AIzaabcDEF0123456789abcdefabcDEF0123456789",
    "dckr_pat_abcDEF0123456789abcdef",
    "npm_abcDEF0123456789abcdefabcDEF0123456789",
    "pypi-abcDEF0123456789abcdefabcDEF0123456789",
    "eyJabcDEF0123456789abcdefabcDEF0123456789abcdef",
    "sk-abcDEF0123456789abcdefabcDEF0123456789",
    "nvapi-abcDEF0123456789abcdefabcDEF0123456789",
};

static void finds_them_anywhere(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(secrets); i++)
        for (size_t before = 0; before < 17; before++)
            for (size_t after = 0; after < 9; after++) {
                char text[100];
                struct nl_buf out;
                nl_buf_init(&out, 4096);
                int len = snprintf(text, sizeof text, "%.*s%s%.*s", (int)before, "................",
                                   secrets[i], (int)after, " . . . . ");
                check_case(text);
                CHECK_INT((int64_t)nl_redact_name(&out, (struct nl_str){text, (size_t)len}), 1);
                nl_buf_release(&out);
            }
}

/* Processor time for `len` letters of a part again and again. */
static double seconds_for(const char *part, char *text, size_t len, bool name)
{
    struct nl_buf out;
    nl_buf_init(&out, len * 8);
    for (size_t at = 0; at < len; at++)
        text[at] = part[at % strlen(part)];
    clock_t before = clock();
    size_t count = name ? nl_redact_name(&out, (struct nl_str){text, len})
                        : nl_redact_text(&out, (struct nl_str){text, len});
    clock_t after = clock();
    CHECK(!out.overflow && count <= len);
    nl_buf_release(&out);
    return (double)(after - before) / CLOCKS_PER_SEC;
}

/* A text of twice the length takes twice as long, not four times. A machine that does other things
 * may make one measurement longer: then the least of several counts. */
static bool is_linear(const char *part, bool name)
{
    enum { LENGTH = 1 << 16, TRIES = 5 };
    static char text[2 * LENGTH];
    double once = 1e9, twice = 1e9;
    bool linear = false;
    for (int i = 0; i < TRIES && !linear; i++) {
        once = fmin(once, seconds_for(part, text, LENGTH, name));
        twice = fmin(twice, seconds_for(part, text, sizeof text, name));
        linear = twice < 0.25 || twice < 3 * once;
    }
    return linear;
}

/* What is looked for again and again, and never ends. */
static void takes_time_as_long_as_text(void)
{
    static const char *const parts[] = {
        "a://",    "a://b@",  "a://x:y",       "token=[",  "token='[", "hf_-a",   "eyJ-a",
        "token=;", "<token>", "auth: Digest ", "\\ntoken", "-hf_a%20", "Cookie: "};
    for (size_t i = 0; i < 2 * CHECK_LENGTH(parts); i++) {
        check_case(parts[i / 2]);
        CHECK(is_linear(parts[i / 2], i % 2));
    }
}

CHECK_MAIN("redact", {"takes secrets out", takes_secrets_out}, {"redacts once", redacts_once},
           {"finds them anywhere", finds_them_anywhere}, {"nothing is nothing", nothing_is_nothing},
           {"takes time as long as the text", takes_time_as_long_as_text},
           {"leaves names of events alone", leaves_names_alone})
