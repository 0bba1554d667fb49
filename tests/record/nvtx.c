/* NVTX of all sorts from two threads; prints what it did. */
#include <pthread.h>
#include <string.h>

#include "nvtxclient.h"

static void *work(void *context)
{
    char text[32];
    for (int i = 0; i < 100; i++) {
        snprintf(text, sizeof text, "batch %d", i % 10);
        PUSH(text);
        MARK("tick");
        POP();
    }
    return context;
}

int main(void)
{
    pthread_t threads[2];
    if (!nvtx_initialize())
        return 3;
    PUSH("main");
    void *domain = DOMAIN("my.domain"), *text = REGISTER(domain, "registered");
    DOMAIN_CATEGORY(domain, 7, "seven");
    struct attributes a = {.version = 3,
                           .size = sizeof a,
                           .category = 7,
                           .color_type = 1,
                           .color = 0xff00ff00,
                           .payload_type = 2,
                           .payload.i64 = -42,
                           .message_type = 3,
                           .message = text};
    DOMAIN_PUSH(domain, &a);
    uint64_t range = START("across");
    PUSH("crossing"); /* ends after the domain's range: each domain nests for itself */
    DOMAIN_POP(domain);
    POP();
    END(range);
    a.category = 9;
    a.payload_type = 3;
    a.payload.f64 = 0.5;
    a.message_type = 1;
    a.message = "plain";
    PUSH_EX(&a);
    POP();
    PUSH_W(L"wide \u00e9\u4e2d\U0001f600");
    POP();
    POP(); /* main */
    if (POP() >= 0)
        return 4;
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
