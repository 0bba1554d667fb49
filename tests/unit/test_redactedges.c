/*
 * Limits of what is taken for a secret (redact/redact.c), each from both sides: users of addresses,
 * whose password it is, settings in addresses, plain values, schemes, and how far the words of a
 * private key may lie behind its dashes.
 */
#include "check.h"

#include "redact/redact.h"

#define GONE  "(redacted)"
#define TOKEN "hf_abcDEF0123456789abc"

static void becomes(const char *text, const char *wanted)
{
    struct nl_buf out;
    nl_buf_init(&out, 4096);
    check_case(text);
    (void)nl_redact_text(&out, nl_str(text));
    CHECK_TEXT(out.ptr ? out.ptr : "", wanted);
    nl_buf_release(&out);
}

static const struct {
    const char *text, *wanted; /* NULL: stays */
} cases[] = {
    /* without a password a user of 20 letters is one; on the web one of 12 with a digit */
    {"https://abcdefghijk1@host/x", "https://" GONE "@host/x"},
    {"https://abcdefghij1@host/x", NULL},
    {"https://abcdefghijkl@host/x", NULL},
    {"https://abcdefghijklmnopqrst@host/x", "https://" GONE "@host/x"},
    {"https://abcdefghijklmnopqrs@host/x", NULL},
    {"ssh://abcdefghijk1@host/x", NULL},
    {"ssh://abcdefghijklmnopqrst@host/x", "ssh://" GONE "@host/x"},
    {"ssh://abcdefghijklmnopqrs@host/x", NULL},
    {"ssh://a:b@host/x", "ssh://" GONE "@host/x"},
    {"ssh://:b@host/x", "ssh://" GONE "@host/x"},
    {"ssh://@host/x", NULL},
    /* a port has digits alone, a password may have a slash */
    {"x://me:80/a@b", NULL},
    {"x://me:/a@b", NULL},
    {"x://me:8a/b@h", "x://" GONE "@h"},
    {"x://me:80?a@b", NULL},
    {"x://[::1]:8a/b@h", NULL},
    {"x://me:w@h/b@c", "x://" GONE "@h/b@c"},
    {"x://me:w@v@h/b", "x://" GONE "@h/b"},
    {"x://me:w<v@h", NULL},
    /* settings of addresses, whatever they say that is no path */
    {"?sig=ab", "?sig=" GONE},
    {"&SIG=ab", "&SIG=" GONE},
    {";sig=ab", ";sig=" GONE},
    {" sig=ab", NULL},
    {"sig=ab", NULL},
    {",sig=ab", NULL},
    {"&xsig=ab", NULL},
    {"&sigx=ab", NULL},
    {"&pass=ab", "&pass=" GONE},
    {";pwd=ab", ";pwd=" GONE},
    {";pwd=/ab", NULL},
    {"&signature=ab", "&signature=" GONE},
    {"&X-signature=ab", "&X-signature=" GONE},
    {"&signatur=ab", NULL},
    /* plain values of names that end like a secret's */
    {"n_token=123456789", NULL},
    {"n_token=1234567890", "n_token=" GONE},
    {"n_token=12345678a", "n_token=" GONE},
    {"n_token=<s>", NULL},
    {"n_token=[s", NULL},
    {"n_token=(s", "n_token=" GONE},
    {"my_password=123456789", "my_password=" GONE},
    {"my_password=<s", "my_password=" GONE},
    {"my_password=True", NULL},
    {"my_password=FALSE", NULL},
    {"my_password=yes", NULL},
    {"my_password=no", NULL},
    {"my_password=on", NULL},
    {"my_password=off", NULL},
    {"my_password=none", NULL},
    {"my_password=null", NULL},
    {"my_password=nul", "my_password=" GONE},
    {"my_password=truey", "my_password=" GONE},
    /* schemes */
    {"x Bearer abc", "x Bearer " GONE},
    {"x bearer abc", "x bearer " GONE},
    {"x BASIC abc", "x BASIC " GONE},
    {"x SSWS abc", "x SSWS " GONE},
    {"x ssws abc", NULL},
    {"x Bearers abc", NULL},
    {"x abearer abc", NULL},
    {"x basi abc", NULL},
    {"x basic\tabc", NULL},
    {"x basic", NULL},
    {"x Bearer " GONE, NULL},
    /* tokens behind another part of the word */
    {"x-" TOKEN, "x-" GONE},
    {"x_" TOKEN, "x_" GONE},
    {"x" TOKEN, NULL},
    {"\\n" TOKEN, "\\n" GONE},
    {"\\r" TOKEN, "\\r" GONE},
    {"\\t" TOKEN, "\\t" GONE},
    {"\\u" TOKEN, NULL},
    {"n" TOKEN, NULL},
    {"%2F" TOKEN, "%2F" GONE},
    {"%2g" TOKEN, NULL},
    {"2F" TOKEN, NULL},
};

static void limits(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++)
        becomes(cases[i].text, cases[i].wanted ? cases[i].wanted : cases[i].text);
}

/* Passwords of these; --pass and --pw are somebody's, --pwd is a folder, as is any other pwd. */
static void whose_password(void)
{
    static const char *const owners[] = {"db",    "user",  "admin", "root",  "smtp",  "mail",
                                         "ftp",   "http",  "ssh",   "redis", "pg",    "mysql",
                                         "sql",   "ldap",  "imap",  "login", "proxy", "postgres",
                                         "mongo", "basic", "auth",  "rabbit"};
    static const char *const others[] = {"forward", "by", "x", "dbx", "usr", "roo", "backward"};
    static const char *const ends[] = {"pass", "pwd", "pw"};
    char text[64], wanted[64];
    for (size_t e = 0; e < CHECK_LENGTH(ends); e++) {
        for (size_t i = 0; i < CHECK_LENGTH(owners); i++)
            for (int form = 0; form < 3; form++) {
                const char *between = form == 0 ? "" : form == 1 ? "_" : "-_";
                snprintf(text, sizeof text, "my%s%s%s=abc", owners[i], between, ends[e]);
                snprintf(wanted, sizeof wanted, "my%s%s%s=" GONE, owners[i], between, ends[e]);
                becomes(text, wanted);
            }
        for (size_t i = 0; i < CHECK_LENGTH(others); i++) {
            snprintf(text, sizeof text, "%s_%s=abc", others[i], ends[e]);
            becomes(text, text);
        }
        snprintf(text, sizeof text, "--%s abc", ends[e]);
        snprintf(wanted, sizeof wanted, "--%s " GONE, ends[e]);
        becomes(text, e == 1 ? text : wanted);
        snprintf(text, sizeof text, "%s=abc", ends[e]);
        becomes(text, text);
    }
}

/* Which key it is must be told within 80 letters of the dashes. */
static void keys_are_told_soon(void)
{
    for (size_t more = 56; more <= 60; more++) {
        char text[200], wanted[200];
        size_t first = strlen("-----BEGIN ");
        int len = snprintf(text, sizeof text, "-----BEGIN %0*d PRIVATE KEY-----abc", (int)more, 0);
        bool told = first + more + strlen(" PRIVATE KEY") <= 80;
        snprintf(wanted, sizeof wanted, "%s", told ? GONE : text);
        CHECK(len > 80);
        becomes(text, wanted);
    }
    becomes("a -----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY----- b", "a " GONE " b");
    becomes("a -----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY", "a " GONE);
    becomes("a -----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY---- b", "a " GONE);
    becomes("a Private-Lines: 1\nAAAA\nPrivate-MAC: 00", "a " GONE "Private-MAC: 00");
    becomes("a -----BEGIN PUBLIC KEY-----\nx", "a -----BEGIN PUBLIC KEY-----\nx");
}

CHECK_MAIN("redact edges", {"limits", limits}, {"whose password", whose_password},
           {"keys are told soon", keys_are_told_soon})
