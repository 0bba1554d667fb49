/*
 * statement — where one SQL statement ends and the next begins: at a ';' outside quotes, brackets
 * and comments.
 */
#ifndef NL_STATEMENT_H
#define NL_STATEMENT_H

#include <stdbool.h>
#include <stddef.h>

/* Length of the first statement of `text` including its ';', or 0 when it has not ended. */
size_t nl_statement_length(const char *text);

/* Only blanks, comments and semicolons? */
bool nl_statement_empty(const char *text, size_t len);

#endif
