/*
 * Damaged events of a Chrome trace, rewritten as JSON (ingest/chrome/chrome_repair.c): what each
 * damage becomes, what is counted, what is given up, and that nothing behind the text is looked at.
 */
#include "check.h"

#include "ingest/chrome/chrome_work.h"

/* What is counted, in the order of `counted`: quotes, escapes, words, commas
 * too many, commas missing. */
static const enum chrome_note counted[] = {CHROME_NOTE_QUOTES, CHROME_NOTE_ESCAPES,
                                           CHROME_NOTE_WORDS, CHROME_NOTE_TRAILING_COMMA,
                                           CHROME_NOTE_COMMAS};

/* Notes as text, "e2w1": of each that is not 0 its letter and count. */
static void say_notes(const struct chrome_worker *worker, char *text)
{
    *text = '\0';
    for (size_t i = 0; i < CHECK_LENGTH(counted); i++)
        if (worker->notes[counted[i]])
            text += sprintf(text, "%c%d", "qewtc"[i], (int)worker -> notes[counted[i]]);
}

/* Rewrites text[0, len); NULL when it is given up. `after` gets how much of the text was taken. */
static const char *repair(struct chrome_worker *worker, const char *text, size_t len, size_t *after)
{
    static char out[4096];
    const char *at = text;
    memset(worker, 0, sizeof *worker);
    nl_buf_init(&worker->repaired, 1 << 20);
    bool done = chrome_repair(worker, &at, text + len);
    size_t room = worker->repaired.len;
    *after = (size_t)(at - text);
    if (done) {
        /* eight readable bytes before it, CHROME_PAD quotes behind it */
        CHECK(room >= 8 + CHROME_PAD);
        CHECK_INT(strspn(worker->repaired.ptr, " ") >= 8, 1);
        for (size_t i = 0; i < CHROME_PAD; i++)
            CHECK(worker->repaired.ptr[room - 1 - i] == '"');
        snprintf(out, sizeof out, "%.*s", (int)(room - 8 - CHROME_PAD), worker->repaired.ptr + 8);
    }
    nl_buf_release(&worker->repaired);
    return done ? out : NULL;
}

static const struct {
    const char *text, *want, *notes; /* want: NULL: given up */
} cases[] = {
    {"{\"a\":1}", "{\"a\":1}", ""},
    {"{ \"a\" : [ 1 , 2 ] }", "{\"a\":[1,2]}", ""},
    {"[]", "[]", ""},
    {"{}", "{}", ""},
    {"[{},[]]", "[{},[]]", ""},
    /* words */
    {"[true,false,null]", "[true,false,null]", ""},
    {"[True,False,None]", "[true,false,null]", "w3"},
    {"[NaN,inf,-inf,-nan(ind),N/A]", "[null,null,null,null,null]", "w5"},
    {"[truth,nul,falsee]", "[null,null,null]", "w3"},
    {"[0x1f,0X1F,0x1]", "[\"0x1f\",\"0X1F\",\"0x1\"]", "w3"},
    {"[0x,1x1,0y1]", "[null,null,null]", "w3"},
    {"[1,-1,1.5,1e5,1E-5,-1.5e+3]", "[1,-1,1.5,1e5,1E-5,-1.5e+3]", ""},
    {"[+1,+1.5,.5,+.5]", "[1,1.5,0.5,0.5]", ""},
    {"[-,+,.,e]", "[null,null,null,null]", "w4"},
    {"[1:2]", NULL, "c1"},
    /* commas */
    {"[1,]", "[1 ]", "t1"},
    {"{\"a\":1,}", "{\"a\":1 }", "t1"},
    {"[,1]", "[1]", "t1"},
    {"[1,,2]", "[1,2]", "t1"},
    {"[1,,,2,]", "[1,2 ]", "t3"},
    {"[1 2]", "[1,2]", "c1"},
    {"[1\"x\",[2]{}]", "[1,\"x\",[2],{}]", "c2"},
    {"[\"x\"[2]]", NULL, "q1"},
    {"{\"a\":1 \"b\":2}", "{\"a\":1,\"b\":2}", "c1"},
    {"{\"a\":\"x\" \"b\":2}", "{\"a\":\"x\",\"b\":2}", "c1"},
    {"{\"a\":\"x\"\"b\" :2}", "{\"a\":\"x\",\"b\":2}", "c1"},
    /* quotes that nobody escaped */
    {"{\"a\":\"x \"y\" z\",\"b\":1}", "{\"a\":\"x \\\"y\\\" z\",\"b\":1}", "q2"},
    {"{\"a\":\"x\",y\",\"b\":1}", "{\"a\":\"x\\\",y\",\"b\":1}", "q1"},
    {"{\"a\":\"x\",}", "{\"a\":\"x\" }", "t1"},
    {"{\"a\":\"x\" , \"b\":1}", "{\"a\":\"x\",\"b\":1}", ""},
    {"{\"a\":\"x\"]\"}", "{\"a\":\"x\\\"]\"}", "q1"},
    {"[\"x\"}\"]", "[\"x\\\"}\"]", "q1"},
    {"[\"x\",1]", "[\"x\",1]", ""},
    {"[\"x\"y\"]", "[\"x\\\"y\"]", "q1"},
    {"{\"a\"b\":1}", "{\"a\\\"b\":1}", "q1"},
    {"{\"a\",\":1}", "{\"a\\\",\":1}", "q1"},
    /* backslashes */
    {"[\"\\\" \\\\ \\/ \\b \\f \\n \\r \\t\"]", "[\"\\\" \\\\ \\/ \\b \\f \\n \\r \\t\"]", ""},
    {"[\"C:\\path \\a \\x\"]", "[\"C:\\\\path \\\\a \\\\x\"]", "e3"},
    {"[\"\\u09af\\uAF90\"]", "[\"\\u09af\\uAF90\"]", ""},
    {"[\"\\u000g\\u00G0\\u0/00\\u:000\\u000`\\u@000\"]",
     "[\"\\\\u000g\\\\u00G0\\\\u0/00\\\\u:000\\\\u000`\\\\u@000\"]", "e6"},
    {"[\"\\u12\"]", "[\"\\\\u12\"]", "e1"},
    /* given up */
    {"{\"a\":1", NULL, ""},
    {"{\"a\"}", NULL, "q1"},
    {"{\"a\":}", NULL, ""},
    {"{\"a\" 1}", NULL, "q1"},
    {"{a:1}", NULL, ""},
    {"{1:1}", NULL, ""},
    {"{\"a\":[1}", NULL, ""},
    {"[1}", NULL, ""},
    {"[\"x", NULL, ""},
    {"[\"x\"", NULL, "q1"},
    {"{\"a\":", NULL, ""},
    {"{\"a\" :  ", NULL, ""},
};

static void damages(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        static struct chrome_worker worker;
        char text[256], notes[40];
        size_t len = strlen(cases[i].text), after;
        /* what stands behind the text must not matter */
        snprintf(text, sizeof text, "%s%s", cases[i].text, "\"}]1a");
        check_case(cases[i].text);
        const char *got = repair(&worker, text, len, &after);
        CHECK_INT(got != NULL, cases[i].want != NULL);
        say_notes(&worker, notes);
        CHECK_TEXT(notes, cases[i].notes);
        if (!got || !cases[i].want)
            continue;
        CHECK_TEXT(got, cases[i].want);
        CHECK_INT(after, len);
    }
}

/* ---- Where the text ends ---- */

/* A backslash whose escape is cut off by the end is no escape, whatever stands behind. */
static void escapes_at_the_end(void)
{
    static const char text[] = "[\"\\u1234\"]";
    for (size_t len = 3; len <= sizeof text - 1; len++) {
        static struct chrome_worker worker;
        char notes[40], want[8] = "";
        size_t after;
        const char *got = repair(&worker, text, len, &after);
        say_notes(&worker, notes);
        if (len < 8) /* [ " \ u and four digits */
            strcpy(want, "e1");
        if (len == 9) /* the quote is the last byte: nothing says that the string ends */
            strcpy(want, "q1");
        check_case(text + len);
        CHECK_TEXT(notes, want);
        CHECK(!got == (len < sizeof text - 1));
    }
}

static void takes_one_event(void)
{
    static struct chrome_worker worker;
    static const char text[] = "{\"a\":NaN}, {\"b\":NaN}";
    size_t after;
    CHECK_TEXT(repair(&worker, text, sizeof text - 1, &after), "{\"a\":null}");
    CHECK_INT(after, 9);
}

/* ---- How much ---- */

static const char *repeated(const char *head, char c, size_t count, const char *tail)
{
    static char text[4096];
    size_t len = strlen(head);
    memcpy(text, head, len);
    memset(text + len, c, count);
    strcpy(text + len + count, tail);
    return text;
}

static void limits(void)
{
    static struct chrome_worker worker;
    size_t after;
    static const struct {
        const char *head;
        char c;
        const char *tail;
        size_t kept, lost; /* the most that is mended, and one more */
    } most[] = {
        {"[", 'x', "]", 256, 257},                 /* a word */
        {"{\"a\":\"x\" \"", 'k', "\":1}", 63, 64}, /* a key whose comma is missing */
    };
    for (size_t i = 0; i < CHECK_LENGTH(most); i++) {
        const char *text = repeated(most[i].head, most[i].c, most[i].kept, most[i].tail);
        check_case(most[i].head);
        CHECK(repair(&worker, text, strlen(text), &after) != NULL);
        text = repeated(most[i].head, most[i].c, most[i].lost, most[i].tail);
        CHECK(repair(&worker, text, strlen(text), &after) == NULL);
    }
    check_case("brackets within brackets");
    for (size_t depth = 512; depth <= 513; depth++) {
        char tail[600] = "";
        memset(tail, ']', depth);
        const char *text = repeated("", '[', depth, tail);
        CHECK((repair(&worker, text, strlen(text), &after) != NULL) == (depth == 512));
    }
}

CHECK_MAIN("chromerepair", {"what each damage becomes", damages},
           {"escapes at the end", escapes_at_the_end}, {"one event", takes_one_event},
           {"how much", limits})
