/*
 * gitfacts — the commit that the current folder is at. Commit and branch are read from
 * .git itself; whether files differ from the commit is asked of git, without its hooks and
 * for half a second at most.
 */
#ifndef NL_GITFACTS_H
#define NL_GITFACTS_H

struct git_facts {
    char commit[72], branch[256]; /* "" = unknown, or no branch */
    int dirty;                    /* 1, 0, or -1 = unknown */
};

void nl_git_facts(struct git_facts *facts);

#endif
