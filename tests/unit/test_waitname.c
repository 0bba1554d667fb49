/* Which functions wait, and which of those wait for a lock: names of profilers that mean waiting,
 * and look-alikes that work. */
#include "check.h"

#include "timeline/waitname.h"

static void knows_waiting(void)
{
    static const char *const waits[] = {"select.epoll.poll",
                                        "join (threading.py:1053)",
                                        "threading.py(1053): join",
                                        "<method 'acquire' of '_thread.lock' objects>",
                                        "<method 'poll' of 'select.epoll' objects>",
                                        "<method 'get' of '_queue.SimpleQueue' objects>",
                                        "<built-in method time.sleep>",
                                        "<built-in method posix.waitpid>",
                                        "threading.py(359): wait",
                                        "selectors.py(451): select",
                                        "queue.py(154): get",
                                        "/usr/lib/python3.12/queue.py(154): get",
                                        "get (/usr/lib/python3.12/queue.py:171)",
                                        "connection.py(929): wait",
                                        "multiprocessing/connection.py(390): _recv",
                                        "nanosleep",
                                        "join",
                                        "poll",
                                        "__GI___poll",
                                        "__futex_abstimed_wait_common64",
                                        "pthread_cond_wait@@GLIBC_2.3.2",
                                        "std::thread::join()",
                                        "sun.misc.Unsafe.park",
                                        "runtime.gopark",
                                        "_SSLSocket.read"};
    static const char *const works[] = {"str.join_all",
                                        "matmul",
                                        "<module>",
                                        "",
                                        "<method 'join' of 'str' objects>",
                                        "posixpath.py(71): join",
                                        "frame.py(9729): join",
                                        "pandas.DataFrame.join",
                                        "ast.Node.accept",
                                        "visitor.py(12): accept",
                                        "sqlalchemy.sql.select",
                                        "torch::select",
                                        "aten::select",
                                        "query.select",
                                        "park_cars",
                                        "<method 'read' of '_io.BufferedReader' objects>",
                                        "<method 'get' of 'dict' objects>",
                                        "car.park",
                                        "job_queue.py(154): get",
                                        "get (job_queue.py:154)",
                                        "get (",
                                        "queue.py(122): put",
                                        "waiter"};
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++)
        (void)check_true(nl_is_wait_name(nl_str(waits[i])), waits[i], __FILE__, __LINE__);
    for (size_t i = 0; i < sizeof works / sizeof works[0]; i++)
        (void)check_true(!nl_is_wait_name(nl_str(works[i])), works[i], __FILE__, __LINE__);
    static const char *const locks[] = {"acquire", "threading.py(1053): join", "__lll_lock_wait",
                                        "futex", "pthread_cond_wait@@GLIBC_2.3.2"};
    static const char *const others[] = {
        "threading.py(359): wait",          "poll",
        "<built-in method time.sleep>",     "queue.py(154): get",
        "<method 'join' of 'str' objects>", "frame.py(9729): join"};
    for (size_t i = 0; i < sizeof locks / sizeof locks[0]; i++)
        (void)check_true(nl_is_lock_name(nl_str(locks[i])), locks[i], __FILE__, __LINE__);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        (void)check_true(!nl_is_lock_name(nl_str(others[i])), others[i], __FILE__, __LINE__);
    CHECK(nl_is_wait_frame(nl_str("join"), nl_str("/usr/lib/python3.12/threading.py")));
    CHECK(nl_is_wait_frame(nl_str("select"), nl_str("selectors.py")));
    CHECK(!nl_is_wait_frame(nl_str("join"), nl_str("site-packages/pandas/core/frame.py")));
    CHECK(!nl_is_wait_frame(nl_str("accept"), nl_str("visitors.py")));
    /* The own frame of a pool's thread waits for its next task; the same names elsewhere work. */
    CHECK(nl_is_wait_frame(nl_str("_handle_tasks"), nl_str("multiprocessing/pool.py")));
    CHECK(nl_is_wait_frame(nl_str("_worker"),
                           nl_str("/usr/lib/python3.12/concurrent/futures/thread.py")));
    CHECK(nl_is_wait_frame(nl_str("_worker"), nl_str("C:\\Lib\\concurrent\\futures\\thread.py")));
    CHECK(nl_is_wait_frame(nl_str("_try_wait"), nl_str("subprocess.py")));
    CHECK(nl_is_wait_frame(nl_str("readinto"), nl_str("/usr/lib/python3.12/socket.py")));
    CHECK(nl_is_wait_frame(nl_str("read"), nl_str("ssl.py")));
    CHECK(!nl_is_wait_frame(nl_str("_worker"), nl_str("my/futures/thread.py")));
    CHECK(!nl_is_wait_frame(nl_str("readinto"), nl_str("websocket.py")));
    CHECK(!nl_is_wait_frame(nl_str("_handle_tasks"), nl_str("server/pool.py")));
    CHECK(!nl_is_wait_frame(nl_str("read"), nl_str("")));
}

CHECK_MAIN("waitname", {"knows waiting", knows_waiting})
