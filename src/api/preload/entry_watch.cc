// What may wait for the program, as the program puts it into a stream.

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
