/* /proc/PID/task/TID/children of each thread of each live part. */
#define _GNU_SOURCE
#include "capture/python/pychildren.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "capture/python/pystack.h"
#include "capture/recorder/partadopt.h"

#define MAX_CHILDREN 4096u
#define MAX_TASKS    64u  /* threads whose children are looked at, per process and look */
#define MAX_LOOKS    250u /* for an interpreter that is about to start */
#define MAX_TEXT     16384u

struct child {
    int64_t pid;
    uint64_t look;  /* when it was last there */
    unsigned looks; /* how often */
    bool settled;   /* has a recording, or is not to have one */
};

struct pychildren {
    struct child *children;
    size_t count, cap;
    uint64_t look, refused;
};

struct pychildren *pychildren_new(void)
{
    return nl_zalloc(sizeof(struct pychildren));
}

void pychildren_free(struct pychildren *children)
{
    if (!children)
        return;
    nl_free(children->children);
    nl_free(children);
}

uint64_t pychildren_refused(const struct pychildren *children)
{
    return children->refused;
}

static void see(struct pychildren *children, int64_t pid)
{
    for (size_t i = 0; i < children->count; i++)
        if (children->children[i].pid == pid) {
            children->children[i].look = children->look;
            children->children[i].looks++;
            return;
        }
    if (children->count >= MAX_CHILDREN) {
        children->refused++;
        return;
    }
    nl_grow(&children->children, &children->cap, children->count + 1);
    children->children[children->count++] =
        (struct child){.pid = pid, .look = children->look, .looks = 1};
}

/* Numbers with spaces between them. */
static void see_task(struct pychildren *children, int64_t pid, const char *task)
{
    char path[320], text[MAX_TEXT];
    (void)snprintf(path, sizeof path, "/proc/%lld/task/%s/children", (long long)pid, task);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    ssize_t got = read(file, text, sizeof text - 1);
    close(file);
    text[got > 0 ? got : 0] = '\0';
    char *end = text;
    for (long long child; (child = strtoll(end, &end, 10)) > 0;)
        see(children, child);
}

void pychildren_see(struct pychildren *children, int64_t parent)
{
    char path[64];
    unsigned count = 0;
    (void)snprintf(path, sizeof path, "/proc/%lld/task", (long long)parent);
    DIR *tasks = opendir(path);
    for (struct dirent *task = tasks ? readdir(tasks) : NULL; task && count < MAX_TASKS;
         task = readdir(tasks))
        if (task->d_name[0] != '.') {
            see_task(children, parent, task->d_name);
            count++;
        }
    if (tasks)
        closedir(tasks);
}

static bool has_part(struct parts *parts, int64_t pid)
{
    size_t count;
    const struct part *part = parts_first(parts, &count);
    for (; count; count--, part++)
        if (part->pid == pid)
            return true;
    return false;
}

static enum pyfind_state look_at(int64_t pid)
{
    struct pystack *stack = pystack_new(pid);
    enum pyfind_state state = pystack_look(stack);
    pystack_free(stack);
    return state;
}

static void adopt_child(struct pychildren *children, struct parts *parts, struct child *child)
{
    struct nl_err err = {0};
    bool has = has_part(parts, child->pid);
    enum pyfind_state state = has ? PYFIND_NONE : look_at(child->pid);
    child->settled = state != PYFIND_NOT_YET || child->looks > MAX_LOOKS;
    if (state != PYFIND_READY || parts_adopt(parts, child->pid, &err))
        return;
    nl_err_clear(&err);
    children->refused++;
}

void pychildren_settle(struct pychildren *children, struct parts *parts)
{
    for (size_t i = 0; i < children->count;) {
        struct child *child = &children->children[i];
        if (child->look != children->look) {
            *child = children->children[--children->count];
            continue;
        }
        if (child->looks > 1 && !child->settled)
            adopt_child(children, parts, child);
        i++;
    }
    children->look++;
}
