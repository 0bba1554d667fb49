#!/usr/bin/env python3
"""No secret gets into what is kept or shown: hundreds of shapes as arguments, as NAME=value, in the environment of a recorded program,
as names and values in profiles, in notes and tags; and what looks like one stays readable.

    tests/secrets.py [SEED]     other letters of the tokens; the shapes stay

Tokens are made here by chance, so that none stands in the tree. Outputs: the recording, run.json, reports, pages, every export, SQL, the
ledger and its folder, and what a command says.
"""
import functools
import glob
import json
import os
import random
import re
import string
import subprocess
import sys

from harness import ROOT, Tally, environment, forked, neurolens, scratch

tally = Tally("secrets")
KINETO = os.path.join(ROOT, "tests", "corpus", "chrome", "kineto.json")
HEX, LOWER, UPPER = "0123456789abcdef", string.ascii_lowercase + string.digits, string.ascii_uppercase + string.digits
ALNUM, BASE64, URL = string.ascii_letters + string.digits, string.ascii_letters + string.digits + "+/", string.ascii_letters + string.digits + "-_"
dice = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 5)


def by_chance(length, letters=ALNUM):
    """So many letters, with a digit, and nothing that begins or ends a word within."""
    while True:
        text = "".join(dice.choice(letters) for _ in range(length))
        if any(c.isdigit() for c in text) and text[0].isalnum() and text[-1].isalnum():
            return text


def tokens():
    """What is a secret by itself: [(start, the rest)]."""
    rows = [("hf_", 34), ("api_org_", 34), ("sk-", 48), ("gsk_", 52), ("xai-", 80), ("pplx-", 48), ("r8_", 37), ("jina_", 60),
            ("tvly-", 32), ("fw_", 24), ("csk-", 48), ("ak-", 22), ("as-", 22), ("ghp_", 36), ("gho_", 36), ("ghu_", 36), ("ghs_", 36),
            ("ghr_", 36), ("ATBB", 32), ("npm_", 36), ("cio", 32), ("AKCp", 69), ("sk_live_", 24), ("sk_test_", 24), ("rk_live_", 24),
            ("whsec_", 32), ("lin_api_", 40), ("ntn_", 46), ("rnd_", 28), ("nfp_", 36), ("napi_", 64), ("aio_", 28), ("phx_", 43),
            ("secret_", 43), ("ABSK", 128)]
    found = [(start, by_chance(length)) for start, length in rows]
    for start, length, letters in [
            ("sk-ant-api03-", 93, URL), ("sk-proj-", 120, URL), ("sk-svcacct-", 120, URL), ("sk-or-v1-", 64, HEX), ("sk-", 32, HEX),
            ("tgp_v1_", 43, URL), ("pa-", 43, URL), ("nvapi-", 64, URL), ("rpa_", 44, UPPER), ("wandb_v1_", 77, URL),
            ("KGAT_", 32, HEX), ("glpat-", 20, URL), ("gldt-", 20, URL), ("glrt-", 20, URL), ("glptt-", 40, HEX),
            ("GR1348941", 20, URL), ("ATATT3xFfGF0", 170, URL), ("ATCTT3xFfGN0", 100, URL), ("pypi-AgEIcHlwaS5vcmc", 150, URL),
            ("rubygems_", 48, HEX), ("oy2", 43, LOWER), ("CLOJARS_", 60, LOWER), ("dckr_pat_", 27, URL), ("dckr_oat_", 32, URL),
            ("bkua_", 40, HEX), ("sqp_", 40, HEX), ("sntrys_", 120, BASE64), ("sntryu_", 64, HEX), ("AKIA", 16, UPPER), ("ASIA", 16, UPPER),
            ("AIza", 35, URL), ("ya29.", 120, URL), ("1//0", 60, URL), ("GOCSPX-", 28, URL), ("dapi", 32, HEX), ("dose", 32, HEX),
            ("dop_v1_", 64, HEX), ("doo_v1_", 64, HEX), ("dor_v1_", 64, HEX), ("hvs.", 90, URL), ("hvb.", 150, URL), ("hvr.", 90, URL),
            ("sha256~", 43, URL), ("dp.pt.", 43, ALNUM), ("fm2_", 100, BASE64), ("fo1_", 43, URL), ("HRKU-", 58, URL), ("pul-", 40, HEX),
            ("sbp_", 40, HEX), ("pscale_tkn_", 43, URL), ("NRAK-", 27, UPPER), ("glc_", 60, ALNUM), ("figd_", 40, URL),
            ("AGE-SECRET-KEY-1", 58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"), ("ops_eyJ", 250, ALNUM), ("xoxd-", 100, ALNUM),
            ("xwfp-123456789-", 40, ALNUM), ("SK", 32, HEX), ("key-", 32, HEX), ("shpat_", 32, HEX), ("shpss_", 32, HEX),
            ("sq0atp-", 22, URL), ("EAAA", 60, URL), ("EAACEdEose0cBA", 100, ALNUM), ("duffel_live_", 43, URL), ("zpka_", 40, ALNUM),
            ("e2b_", 40, HEX), ("sgp_", 40, HEX), ("sgp_local_", 40, HEX), ("apify_api_", 36, ALNUM), ("LTAI5t", 18, ALNUM), ("AKID", 32, ALNUM),
            ("vck_", 56, ALNUM)]:
        found.append((start, by_chance(length, letters)))
    for start, parts, between in [
            ("github_pat_", [(22, ALNUM), (59, ALNUM)], "_"), ("lsv2_pt_", [(32, HEX), (10, HEX)], "_"), ("pcsk_", [(6, ALNUM), (60, ALNUM)], "_"),
            ("CCIPAT_", [(22, ALNUM), (40, HEX)], "_"), ("SG.", [(22, URL), (43, URL)], "."), ("xkeysib-", [(64, HEX), (16, ALNUM)], "-"),
            ("PMAK-", [(24, HEX), (34, HEX)], "-"), ("pat", [(14, ALNUM), (64, HEX)], "."), ("glsa_", [(32, ALNUM), (8, HEX)], "_"),
            ("tskey-auth-", [(17, ALNUM), (32, ALNUM)], "-"), ("dt0c01.", [(24, UPPER), (64, UPPER)], "."), ("re_", [(8, ALNUM), (24, ALNUM)], "_"),
            ("eyJ", [(40, URL), (80, URL), (43, URL)], "."), ("sk.eyJ", [(60, ALNUM), (22, URL)], "."), ("A3-", [(6, UPPER)] * 6, "-"),
            ("xoxb-", [(12, string.digits)] * 2 + [(24, ALNUM)], "-"), ("xoxp-", [(12, string.digits)] * 3 + [(32, HEX)], "-"),
            ("xapp-1-", [(9, UPPER), (12, string.digits), (64, HEX)], "-"), ("", [(14, ALNUM), (0, "atlasv1"), (67, URL)], "."),
            ("", [(32, HEX), (0, "us12")], "-"), ("1234567890:AA", [(33, URL)], ""), ("a1b8Q~", [(34, URL)], "")]:
        pieces = [by_chance(length, letters) if length else letters for length, letters in parts]
        found.append((start, between.join(pieces)))
    return found


def keys():
    """Private keys: [(what stands before, the secret, what stands behind)]."""
    found = []
    for kind in ("RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED ", ""):
        lines = "\n".join(by_chance(64, BASE64) for _ in range(3))
        found.append(("-----BEGIN %sPRIVATE KEY-----\n" % kind, lines, "\n-----END %sPRIVATE KEY-----" % kind))
    lines = "\\n".join(by_chance(64, BASE64) for _ in range(3))
    found.append(('{"private_key": "-----BEGIN PRIVATE KEY-----\\n', lines, '\\n-----END PRIVATE KEY-----\\n"}'))
    found.append(("-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n", by_chance(64, BASE64), "\n-----END PGP PRIVATE KEY BLOCK-----"))
    found.append(("PuTTY-User-Key-File-2: ssh-rsa\nPrivate-Lines: 1\n", by_chance(64, BASE64), "\nPrivate-MAC: 00"))
    return found


def texts():
    """Secrets by what stands around them: {b86}: so many letters of BASE64, …; {w}: a word that a person chose."""
    rows = [
        "DefaultEndpointsProtocol=https;AccountName=a;AccountKey={b86}==;EndpointSuffix=core.windows.net",
        "Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey={b43}=",
        "https://hooks.slack.com/services/T01ABCDEF/B01ABCDEF/{a24}", "https://hooks.slack.com/workflows/T01/A01/1234567/{a24}",
        "https://discord.com/api/webhooks/123456789012345678/{u68}", "https://ptb.discord.com/api/webhooks/123456789012345678/{u68}",
        "https://acme.webhook.office.com/webhookb2/{h36}@{h36}/IncomingWebhook/{h32}/{h36}",
        "https://api.telegram.org/bot1234567890:AA{u33}/sendMessage", "https://hooks.zapier.com/hooks/catch/123456/{l9}",
        "https://chat.googleapis.com/v1/spaces/AAAA/messages?key=AIza{u35}&token={u43}",
        "https://a.blob.core.windows.net/c/b?sv=2022-11-02&sp=r&sig={a43}%3D", "https://a.blob.core.windows.net/c/b?sig={a43}%3D&se=1",
        "https://b.s3.amazonaws.com/k?X-Amz-Credential=AKIA{c16}%2F2024&X-Amz-Signature={h64}",
        "https://b.s3.amazonaws.com/k?X-Amz-Security-Token={u99}", "https://storage.googleapis.com/b/k?X-Goog-Signature={h128}",
        "https://d.cloudfront.net/k?Policy=x&Key-Pair-Id=K1&Signature={a64}", "https://host/x?access_token={l24}",
        "https://host/x?apikey={w}", "https://host/x?a=1&password={w}", "https://host/x?a=1&pwd={w}", "https://host/x?a=1&pass={w}",
        "mysql -u me -p{w} db", "mysql --password={w} db", "mysql --pass={w} db", "mysqlimport -p{w} db t", "mariadb-dump -p{w} db",
        "sshpass -p {w} ssh me@h", "sshpass -p{w} ssh me@h", "curl -u me:{w} https://h", "curl --user me:{w} https://h", "curl -su me:{w} https://h",
        "curl --user=me:{w} https://h", "curl --proxy-user me:{w} https://h", "curl -b session={w} https://h",
        "wget --http-password={w} https://h", "redis-cli -a {w} ping", "redis-cli --pass {w} ping",
        "redis://:{w}@host:6379/0", "postgresql://me:{w}@host/db", "postgresql://me:hun@{w}@host/db", "postgresql://me:hun/{w}@host/db",
        "mongodb+srv://me:{w}@host/db", "redis://u:a,b;{w}@h", "host=h user=me password={w} dbname=d",
        "Driver=x;Server=s;Uid=me;Pwd={w};", "jdbc:mysql://h/db?user=me&password={w}",
        "PGPASSWORD={w}", "MYSQL_PWD={w}", "DB_PASS={w}", "DBPASS={w}", "db_pass={w}", "SMTP_PASS={w}", "PASSWORD={w}", "--pass {w}",
        "--passwd {w}", "--db-pass {w}", "--pw {w}", "--passcode={w}", "--passphrase {w}", "openssl enc -pass pass:{w}", "openssl rsa -passin pass:{w}",
        "zip -P {w} a.zip b", "7z a -p{w} a.7z b", "docker login -u me -p {w} host", "helm registry login -u me -p {w} host",
        "az login --service-principal -u me -p {w} --tenant t", "mongosh -u me -p {w}", "ldapsearch -x -D cn=me -w {w}",
        "smbclient //h/s -U me%{w}", "ipmitool -H h -U me -P {w}", "mosquitto_pub -u me -P {w}", "sqlcmd -S h -U me -P {w}",
        "wandb login {h40}", "vault login s.{a24}", "https://{l40}@host/x", "https://{a16}@host/x", "https://x-access-token:{a40}@github.com/x",
        "https://oauth2:{a20}@gitlab.com/x", "SENTRY_DSN=https://{h32}@o1.ingest.sentry.io/1",
        "TOGETHER_API_KEY={h64}", "CO_API_KEY={a40}", "MODAL_TOKEN_SECRET=as-{a22}", "WANDB_API_KEY={h40}", "COMET_API_KEY={a25}", "KAGGLE_KEY={h32}",
        "CLEARML_API_SECRET_KEY={a50}", "AWS_SECRET_ACCESS_KEY={b40}", "AWS_SESSION_TOKEN={b200}", "aws_secret_access_key = {b40}",
        "TWILIO_AUTH_TOKEN={h32}", "VAULT_TOKEN=s.{a24}", "DATABRICKS_TOKEN=dapi{h32}", "CARGO_REGISTRY_TOKEN={a32}", "VERCEL_TOKEN={a24}",
        "CLOUDFLARE_API_TOKEN={u40}", "DD_API_KEY={h32}", "DD_APP_KEY={h40}", "SECRET_KEY_BASE={h64}", "ENCRYPTION_KEY={h64}", "FERNET_KEY={u43}=",
        "SIGNING_KEY={h32}", "LICENSE_KEY={c25}", "JSESSIONID={c32}", "PHPSESSID={l26}", "sessionid={l32}", "csrftoken={a32}", "BW_SESSION={b86}==",
        "OTP_SECRET={c16}", "otpauth://totp/x?secret={c16}", "client-key-data: {b200}", '{"auths": {"https://index.docker.io/v1/": {"auth": "{b40}"}}}',
        "Authorization: Bearer {a30}", "Authorization: Basic {b24}", "Authorization: token {h16}", "Authorization: ApiKey {b60}",
        '{"Authorization": "Bearer {a30}"}', 'Authorization: Digest username="me", response="{h32}"', "-H 'X-Api-Key: {w}'",
        "-H 'Cookie: a=b; session={w}'", "-H 'PRIVATE-TOKEN: {h16}'", "++trainer.wandb.api_key={h40}", "--set auth.password={w}",
        "export API_TOKEN={w}; python x", "login(token='{w}')", "{'token': '{w}'}", 'api_key = "{w}"', "password: {w}", "<password>{w}</password>",
        '{\\"token\\":\\"{w}\\"}', "token%3D{a24}", "password='a b{w} c'", "PASSWORD=p$ss,{w};x&y", "password=a\\{w}", "password=a(b){w}]d}"]
    letters = dict(a=ALNUM, b=BASE64, u=URL, h=HEX, l=LOWER, c=UPPER)
    found = []
    for row in rows:
        secrets, text = [], ""
        while row:
            before, brace, rest = row.partition("{")
            inside = rest.partition("}")[0]
            text, row = text + before, rest
            if brace and (inside == "w" or (inside[:1] in letters and inside[1:].isdigit())):
                secrets.append(by_chance(9, LOWER) if inside == "w" else by_chance(int(inside[1:]), letters[inside[0]]))
                text, row = text + secrets[-1], rest.partition("}")[2]
            else:
                text += brace
        found.append((text, secrets))
    return found


LOOK_ALIKES = [
    "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c", "550e8400-e29b-41d4-a716-446655440000", "sha256:" + "0f1e2d3c4b5a6978" * 4,
    "GPU-5a0c3c1e-7d55-4b3a-9f21-1234567890ab", "meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen2.5-72B-Instruct-GPTQ-Int4",
    "model-00001-of-00004.safetensors", "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", "/data/runs/2024-01-31_12-00-00/trace_rank0.pt.trace.json.gz",
    "--tokenizer=gpt2", "--max-new-tokens=128", "--num_tokens=4096", "tokens_per_second=12345", "--pad-token-id=50256", "--n_token=128",
    "--eos_token='</s>'", "--author=me", "--keyframe=12", "--cache-key=step12", "--sort-key=name", "--keys=a,b,c", "--passes=3", "--pass-rate=0.9",
    "--bypass=1", "--pwd=/srv/me", "OLDPWD=/srv/me/x", "forward_pass=fused", "attn_pass=2", "--sig=0.5", "--use-auth=true", "https://host:8443/path@v2",
    "git@github.com:org/repo.git", "https://git@host/x", "https://host/?mail=somebody.with.a.name@host", "s3://bucket/key/part-0001", "ampere_sgemm_128x64_nn",
    "sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x32", "triton_poi_fused__to_copy_add_mul_0d1d2d3",
    "sk-resnet50_batch128_amp_bf16_run12", "hf_llama_decoder_layer_12_forward_pass", "hf_BertForSequenceClassificationHead", "key-value-cache-16",
    "SKU12345678901234567890", "SG.layer.norm", "xai-kernel-12", "gsk_gemm", "dapidata", "hvs_conv2d", "glc_kernel_12", "re_lu_12", "pat1.x",
    "fw_AttnForwardLayer2Norm128", "e2b_conv_block_12", "sgp_local_attention_12_forward", "AKIDNEY_MODEL_12", "vck_gemm_128x64_nn",
    "apify_api_client_forward", "secretary_problem=12", "tokenizer.json", "TOKENIZERS_PARALLELISM=false", "NCCL_DEBUG=INFO", "KEY_DIM=64",
    "WANDB_MODE=offline", "run-20240131_120000-1a2b3c4d", "torch==2.3.1+cu121", "docker-run:8080", "cache_key=" + "0f1e2d3c4b5a6978" * 2]


def shapes():
    """[(text, [secrets])]"""
    found = [(start + rest, [rest]) for start, rest in tokens()]
    found += [(before + secret + behind, secret.replace("\\n", "\n").split("\n")) for before, secret, behind in keys()]
    return found + texts()


def in_ids_alone(piece, secret, text):
    """Ids and digests are hexadecimal, and new ones each time: whether six such letters stand in those alone, of which no eight are the secret's."""
    if not re.fullmatch("[0-9a-f]+", piece):
        return False
    for match in re.finditer("[0-9a-f]*" + piece + "[0-9a-f]*", text):
        word = match.group()
        if len(word) < 16 or any(word[at:at + 8] in secret for at in range(len(word) - 7)):
            return False
    return True


def sixes(text):
    """All that stands in a text, six letters each: where hundreds of secrets are looked for, to look into this takes less time."""
    return {line[at:at + 6] for line in set(text.split("\n")) for at in range(len(line) - 5)}


def seen(secrets, text, letters=None):
    """Six letters of a secret that stand in a text, of which `letters` may be the sixes."""
    for secret in secrets:
        for at in range(max(1, len(secret) - 5)):
            piece = secret[at:at + 6]
            if piece in (letters if letters and len(piece) == 6 else text) and not piece.isdigit() and not in_ids_alone(piece, secret, text):  # times are digits, too
                return piece
    return None


@functools.lru_cache(maxsize=None)
def frame():
    """Lines of every page: its style and script."""
    page = os.path.join(scratch(), "frame.html")
    assert forked(["report", "-q", KINETO, "-o", page]).status == 0
    with open(page, encoding="utf-8", errors="replace") as file:
        return set(file.read().split("\n"))


def shown(path, folder):
    """What the program gives of a profile, and the bytes of a recording."""
    parts = []
    if path.endswith(".nlt"):
        with open(path, "rb") as file:
            parts.append(file.read().decode("latin-1"))
    for words in (["info"], ["analyze", "--all"], ["analyze", "--format", "json"], ["export", "--to", "run.json"], ["export", "--to", "chrome"],
                  ["export", "--to", "otlp-traces"], ["sql", "select * from metadata", "--format", "csv"], ["sql", "select distinct name from slices", "--format", "csv"],
                  ["sql", "select * from args", "--format", "csv"]):
        done = forked([words[0], "-q", path] + words[1:], cwd=folder)
        assert done.status == 0, done.describe()
        parts += [done.stdout, done.stderr]
    page = os.path.join(folder, "page.html")
    assert forked(["report", "-q", path, "-o", page], cwd=folder).status == 0
    with open(page, encoding="utf-8", errors="replace") as file:
        parts += [line for line in file.read().split("\n") if line not in frame()]
    return "\n".join(parts)


def bytes_below(folder):
    parts = []
    for path in glob.glob(folder + "/**/*", recursive=True) + glob.glob(folder + "/**/.*", recursive=True):
        if os.path.isfile(path):
            with open(path, "rb") as file:
                parts.append(file.read().decode("latin-1"))
    return "\n".join(parts)


def place(name):
    folder = os.path.join(scratch(), name)
    os.makedirs(folder)
    return folder


def report(name, found, want):
    tally.check("%s: %d shapes" % (name, want), not found, "\n".join("%s: %s" % (part, text[:160]) for part, text in found))


def recorded(cases, name, words_of, extra_of=None):
    """Records programs with a handful of shapes each; [(what was seen, the shape)]."""
    folder, found, batch = place(name), [], []
    batches = []
    for text, secrets in cases:
        batch.append((text, secrets))
        if sum(len(words_of(text)) for text, _ in batch) > 2500 or len(batch) == 24:
            batches.append(batch)
            batch = []
    for number, batch in enumerate(batches + [batch]):
        path = os.path.join(folder, "%d.nlt" % number)
        words = [words_of(text) for text, _ in batch] if not extra_of else []
        extra = extra_of(batch) if extra_of else None
        done = neurolens(["run", "-o", path, "--", "/bin/true"] + words, cwd=folder, extra=extra)
        if done.status != 0:
            return [("no recording", done.describe())]
        text = shown(path, folder) + done.stdout + done.stderr
        found += [(seen(secrets, text), shape) for shape, secrets in batch if seen(secrets, text)]
    return found


def arguments(cases):
    report("as arguments of a recorded program", recorded(cases, "arguments", lambda text: text), len(cases))
    report("as NAME=value before a recorded program", recorded(
        [(text, secrets) for text, secrets in cases if "\n" not in text], "values", lambda text: "MY_API_TOKEN=" + text.replace("'", "")), len(cases))


def environments(cases):
    def variables(batch):
        return {name % at: text for at, (text, _) in enumerate(batch) for name in ("SECRET_%d", "HF_TOKEN_%d", "NCCL_%d", "CUDA_%d", "TORCH_%d", "SLURM_%d")}
    report("in the environment of a recorded program", recorded(cases, "environments", lambda text: text, variables), len(cases))


def alone(cases):
    """Each by itself, so that no neighbour's quote or key hides a fault: as a note in the ledger."""
    folder, found = place("alone"), []
    ledger = os.path.join(folder, "ledger")
    done = neurolens(["add", "-q", KINETO, "--ledger", ledger], cwd=folder)
    for text, _ in cases:
        if done.status == 0:
            done = forked(["note", "-q", "--ledger", ledger, "@", "--", text], cwd=folder)
    told = bytes_below(ledger) if done.status == 0 else ""
    for words in (["show", "@"], ["show", "@", "--format", "json"], ["ls", "--format", "json"]):
        told += neurolens(words + ["--ledger", ledger], cwd=folder).stdout
    letters = sixes(told)
    found = [(seen(secrets, told), shape) for shape, secrets in cases if seen(secrets, told, letters)]
    tally.check("notes are kept", told.count("(redacted)") >= len(cases), done.describe())
    report("as notes in the ledger", found, len(cases))


def names(cases):
    """Names of events, their arguments and metadata in a foreign profile; those that are secrets by themselves."""
    folder = place("names")
    events = [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python train.py " + " ".join(text for text, _ in cases[:8])}}]
    for at, (text, _) in enumerate(cases):
        events.append({"ph": "X", "name": "load " + text, "cat": "cpu_op", "pid": 1, "tid": 1, "ts": at * 10, "dur": 5, "args": {"text": text}})
    path = os.path.join(folder, "made.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps({"schemaVersion": 1, "note": cases[0][0], "traceEvents": events}))
    text = shown(path, folder)
    letters = sixes(text)
    found = [(seen(secrets, text), shape) for shape, secrets in cases if seen(secrets, text, letters)]
    report("as names and arguments of events", found, len(cases))


def remotes():
    """Where a working copy came from."""
    folder, secret = place("remote"), by_chance(36)
    subprocess.run(["git", "init", "-q", "."], cwd=folder, env=environment(scratch()), check=True)
    subprocess.run(["git", "remote", "add", "origin", "https://x:ghp_%s@github.com/a/b" % secret], cwd=folder, env=environment(scratch()), check=True)
    path = os.path.join(folder, "made.nlt")
    neurolens(["run", "-q", "-o", path, "--", "/bin/true"], cwd=folder)
    text = shown(path, folder)
    tally.check("in the address of a git remote", not seen([secret], text), seen([secret], text))


def look_alikes():
    folder, lost = place("look-alikes"), []
    for number in range(0, len(LOOK_ALIKES), 20):
        batch = LOOK_ALIKES[number:number + 20]
        path = os.path.join(folder, "%d.nlt" % number)
        neurolens(["run", "-q", "-o", path, "--", "/bin/true"] + batch, cwd=folder)
        told = json.loads(neurolens(["export", path, "--to", "run.json"], cwd=folder).stdout)["run"]["command"]
        lost += [text for text in batch if text.replace("'", "'\\''") not in told]
    tally.check("%d look-alikes stay readable" % len(LOOK_ALIKES), not lost, "\n".join(lost))


def main():
    cases = shapes()
    arguments(cases)
    environments(cases)
    alone(cases)
    names([(text, secrets) for text, secrets in cases[:len(tokens())] if not text.startswith(
        ("fw_", "pa-", "ak-", "as-", "re_", "cio", "pat", "SK", "1234567890:", "a1b8Q~")) and not text.endswith("-us12")])
    remotes()
    look_alikes()
    tally.finish()


if __name__ == "__main__":
    main()
