/* SHA-256 against the examples of FIPS 180-4, and of a file in pieces. */
#include "check.h"

#include <unistd.h>

#include "base/digest.h"

static void is_sha256(void)
{
    static const struct {
        const char *text, *digest;
    } rows[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[NL_DIGEST_TEXT];
        struct nl_err err = {0};
        CHECK(nl_digest_bytes(text, rows[i].text, strlen(rows[i].text), &err));
        CHECK_TEXT(text, rows[i].digest);
    }
}

static void reads_files(void)
{
    char path[] = "/tmp/neurolens-digest-XXXXXX", text[NL_DIGEST_TEXT], same[NL_DIGEST_TEXT];
    static char block[9 << 20]; /* more than two steps */
    memset(block, 'x', sizeof block);
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, block, sizeof block) == (ssize_t)sizeof block);
    close(fd);
    uint64_t size = 0;
    struct nl_err err = {0};
    CHECK(nl_digest_file(text, &size, path, NULL, &err));
    CHECK(nl_digest_bytes(same, block, sizeof block, &err));
    CHECK_TEXT(text, same);
    CHECK_INT(size, sizeof block);
    struct nl_job job = {.threads = 1};
    atomic_store(&job.cancelled, true);
    CHECK(!nl_digest_file(text, NULL, path, &job, &err));
    CHECK(err.code == NL_INTERRUPTED);
    unlink(path);
    CHECK(!nl_digest_file(text, NULL, path, NULL, &err));
    CHECK(err.code == NL_IO);
}

CHECK_MAIN("digest", {"is SHA-256", is_sha256}, {"reads files", reads_files})
