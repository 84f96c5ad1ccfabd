// Entry points that put work into a stream which may wait for the program.

#include "api/preload/real_driver.h"
#include "api/preload/stream_watch.h"

namespace polypath::preload {

// NOLINTBEGIN(bugprone-macro-parentheses)
#define POLYPATH_WATCH(symbol, name, since, own_stream, parameters, names, stream) \
  Result symbol parameters {                                                       \
    StreamWatch::of_process().note(stream);                                        \
    return real().symbol names;                                                    \
  }
POLYPATH_WATCHED_FUNCTIONS(POLYPATH_WATCH)
#undef POLYPATH_WATCH
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace polypath::preload
