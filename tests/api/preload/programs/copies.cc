// A program that copies in one of many ways, and looks whether the bytes are right. It knows
// nothing of Polypath: the test runs it with and without.

#include <map>

#include "copies_by_lookup.h"
#include "copies_in_batches.h"
#include "copies_in_contexts.h"
#include "copies_of_processes.h"

using namespace program;

namespace {

const std::map<std::string, void (*)()> kCases = {
    {"async", async},
    {"of_any_kind", of_any_kind},
    {"peer", peer},
    {"legacy_stream", legacy_stream},
    {"legacy_stream_of_two", legacy_stream_of_two},
    {"per_thread_stream", per_thread_stream},
    {"blocking", blocking},
    {"host_blocking", host_blocking},
    {"host_async", host_async},
    {"many_then_few", many_then_few},
    {"in_order", in_order},
    {"small_only", small_only},
    {"no_more_contexts", no_more_contexts},
    {"capturing", capturing},
    {"own_context", own_context},
    {"memory_of_own_context", memory_of_own_context},
    {"beyond_the_end", beyond_the_end},
    {"managed", managed},
    {"threads", threads},
    {"forking", forking},
    {"forking_first", forking_first},
    {"copying_at_exit", copying_at_exit},
    {"copying_in_destructors", copying_in_destructors},
    {"resetting", resetting},
    {"resetting_first", resetting_first},
    {"batch", batch},
    {"batch_of_small", batch_of_small},
    {"batch_read_at_once", batch_read_at_once},
    {"batch_of_several_ways", batch_of_several_ways},
    {"by_dlsym", by_dlsym},
    {"by_request", by_request},
    {"other_lookups", other_lookups},
};

}  // namespace

extern "C" __attribute__((visibility("default"))) int main(int argc, char** argv) {
  keep_memory();
  const std::string asked = argc > 1 ? argv[1] : "";
  if (asked == "--list")
    for (const auto& named : kCases) std::puts(named.first.c_str());
  const auto found = kCases.find(asked);
  if (found == kCases.end()) return asked == "--list" ? 0 : 2;
  if (found->first != "forking_first") CHECK(cuInit(0));
  found->second();
  std::puts("right");
  return 0;
}
