/* viewfinish — see viewfinish.h. */
#include "view/viewfinish.h"

#include <errno.h>
#include <string.h>

bool nl_view_finish(FILE *out, struct nl_err *err)
{
    errno = 0;
    if (fflush(out) == 0 && !ferror(out))
        return true;
    return nl_fail(err, NL_WRITE, "the output could not be written: %s",
                   errno ? strerror(errno) : "the stream reports an error");
}
