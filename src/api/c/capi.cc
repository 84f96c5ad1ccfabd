// The C interface over Context. No exception leaves it: each becomes a status and a message.

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "api/c/status.h"
#include "context/reports.h"

namespace {

using polypath::Bytes;
using polypath::ErrorCode;
using polypath::fail;
using polypath::c::Address;
using polypath::c::address_of;
using polypath::c::context_of;
using polypath::c::given;
using polypath::c::guarded;
using polypath::c::last_error;

polypath_status create(const char* machine, polypath_context** context, bool trace) {
  return guarded([&] {
    *given(context, "context") = nullptr;
    const std::string name = machine == nullptr ? "" : machine;
    *context = new polypath_context{polypath::c::Context(
        polypath::c::open_machine(name, polypath::read_settings(), {.record_trace = trace}))};
  });
}

std::optional<polypath::c::Executor> choice_of(polypath_executor executor) {
  switch (executor) {
    case POLYPATH_AUTO: return std::nullopt;
    case POLYPATH_NATIVE: return polypath::c::Executor::native;
    case POLYPATH_STREAM: return polypath::c::Executor::stream;
    case POLYPATH_GRAPH: return polypath::c::Executor::graph;
    default: break;  // the caller's language may not check it
  }
  fail(ErrorCode::invalid_argument, "executor " + std::to_string(executor) + " is unknown",
       "it is no value of polypath_executor", "Pass POLYPATH_AUTO.");
}

polypath_executor executor_of(polypath::c::Executor executor) {
  switch (executor) {
    case polypath::c::Executor::stream: return POLYPATH_STREAM;
    case polypath::c::Executor::graph: return POLYPATH_GRAPH;
    case polypath::c::Executor::native: break;
  }
  return POLYPATH_NATIVE;
}

void write_text(const std::string& text, char* json, size_t capacity, size_t* needed) {
  if (needed != nullptr) *needed = text.size() + 1;
  if (capacity == 0) return;
  if (capacity < text.size() + 1)
    fail(ErrorCode::invalid_argument, "capacity " + std::to_string(capacity) + " is too small",
         std::to_string(text.size() + 1) + " bytes are needed", "Pass a larger buffer.");
  std::memcpy(given(json, "json"), text.c_str(), text.size() + 1);
}

}  // namespace

extern "C" {

const char* polypath_status_name(polypath_status status) {
  switch (status) {
    case POLYPATH_SUCCESS: return "success";
    case POLYPATH_INVALID_ARGUMENT: return name_of(ErrorCode::invalid_argument);
    case POLYPATH_INVALID_MACHINE: return name_of(ErrorCode::invalid_machine);
    case POLYPATH_INVALID_SETTING: return name_of(ErrorCode::invalid_setting);
    case POLYPATH_OUT_OF_MEMORY: return name_of(ErrorCode::out_of_memory);
    case POLYPATH_DRIVER_ERROR: return name_of(ErrorCode::driver);
    case POLYPATH_UNSUPPORTED: return name_of(ErrorCode::unsupported);
    case POLYPATH_INTERNAL_ERROR: return name_of(ErrorCode::internal);
    case POLYPATH_NOISY_MACHINE: return name_of(ErrorCode::noisy_machine);
    case POLYPATH_COMMUNICATOR_ERROR: return name_of(ErrorCode::communicator);
  }
  return "unknown status";
}

const char* polypath_last_error(void) { return last_error().c_str(); }

polypath_status polypath_context_create(const char* machine, polypath_context** context) {
  return create(machine, context, false);
}

polypath_status polypath_context_create_traced(const char* machine, polypath_context** context) {
  return create(machine, context, true);
}

polypath_status polypath_context_destroy(polypath_context* context) {
  return guarded([&] { delete context; });
}

polypath_status polypath_allocate(polypath_context* context, const char* place, size_t bytes,
                                  void** address) {
  return guarded([&] {
    *given(address, "address") = nullptr;
    const Address made = context_of(context).allocate(given(place, "place"), Bytes{bytes});
    *address = reinterpret_cast<void*>(made.value);
  });
}

polypath_status polypath_free(polypath_context* context, void* address) {
  return guarded([&] { context_of(context).free(address_of(address)); });
}

polypath_status polypath_stream_create(polypath_context* context, const char* gpu,
                                       polypath_stream* stream) {
  return guarded([&] {
    given(stream, "stream");
    *stream = context_of(context).create_stream(given(gpu, "gpu")).value;
  });
}

polypath_status polypath_stream_destroy(polypath_context* context, polypath_stream stream) {
  return guarded([&] { context_of(context).destroy_stream({stream}); });
}

polypath_status polypath_stream_synchronize(polypath_context* context, polypath_stream stream) {
  return guarded([&] { context_of(context).synchronize({stream}); });
}

polypath_status polypath_stream_adopt(polypath_context* context, void* cuda_stream,
                                      polypath_stream* stream) {
  return guarded([&] {
    given(stream, "stream");
    *stream = context_of(context)
                  .adopt_stream(reinterpret_cast<std::uintptr_t>(cuda_stream))
                  .handle.value;
  });
}

polypath_status polypath_copy(polypath_context* context, void* destination, const void* source,
                              size_t bytes, polypath_stream stream) {
  return polypath_copy_with(context, destination, source, bytes, stream, POLYPATH_AUTO, nullptr);
}

polypath_status polypath_copy_with(polypath_context* context, void* destination, const void* source,
                                   size_t bytes, polypath_stream stream, polypath_executor executor,
                                   polypath_executor* used) {
  return guarded([&] {
    polypath::c::PlanOptions options;
    options.executor = choice_of(executor);
    const auto result = context_of(context).copy(address_of(destination), address_of(source),
                                                 Bytes{bytes}, {stream}, options);
    if (used != nullptr) *used = executor_of(result.executor);
  });
}

polypath_status polypath_copy_on(polypath_context* context, void* destination, const void* source,
                                 size_t bytes, void* cuda_stream) {
  return guarded([&] {
    polypath::c::Context& used = context_of(context);
    const auto stream = used.adopt_stream(reinterpret_cast<std::uintptr_t>(cuda_stream));
    (void)used.copy_on(stream.gpu, stream.handle, address_of(destination), address_of(source),
                       Bytes{bytes});
  });
}

polypath_status polypath_copy_many_on(polypath_context* context, const polypath_piece* pieces,
                                      size_t count, void* cuda_stream, size_t* enqueued) {
  return guarded([&] {
    if (enqueued != nullptr) *enqueued = 0;
    polypath::c::Context& used = context_of(context);
    if (count > 0) given(pieces, "pieces");
    const auto stream = used.adopt_stream(reinterpret_cast<std::uintptr_t>(cuda_stream));
    std::vector<polypath::c::Piece> copies;
    for (size_t i = 0; i < count; ++i)
      copies.push_back({.destination = address_of(pieces[i].destination),
                        .source = address_of(pieces[i].source),
                        .bytes = {pieces[i].bytes}});
    (void)used.copy_pieces(stream, {}, copies, enqueued);
  });
}

polypath_status polypath_plan(polypath_context* context, const char* source,
                              const char* destination, size_t bytes, char* json, size_t capacity,
                              size_t* needed) {
  return guarded([&] {
    polypath::c::Context& used = context_of(context);
    const auto plan =
        used.plan(given(source, "source"), given(destination, "destination"), Bytes{bytes});
    write_text(polypath::c::plan_report(used.machine(), *plan), json, capacity, needed);
  });
}

polypath_status polypath_get_statistics(polypath_context* context,
                                        polypath_statistics* statistics) {
  return guarded([&] {
    const polypath::c::Statistics counted = context_of(context).statistics();
    *given(statistics, "statistics") = {counted.transfers,
                                        counted.native,
                                        counted.streams,
                                        counted.graphs,
                                        counted.pageable,
                                        counted.fallbacks,
                                        counted.errors,
                                        counted.graph_hits,
                                        counted.graph_updates,
                                        counted.graph_instantiations,
                                        counted.graph_evictions,
                                        counted.bytes.value,
                                        counted.staged_bytes.value};
  });
}

polypath_status polypath_now(polypath_context* context, double* seconds) {
  return guarded([&] { *given(seconds, "seconds") = context_of(context).now().value; });
}

polypath_status polypath_trace(polypath_context* context, const char* path) {
  return guarded([&] {
    polypath::c::Context& used = context_of(context);
    const std::string text = polypath::c::trace_report(used.machine(), used.trace());
    std::ofstream file(given(path, "path"));
    file << text << '\n';
    if (!file.flush())
      fail(ErrorCode::invalid_argument, std::string("trace file '") + path + "' cannot be written",
           "its folder does not exist or is not writable", "Name another file.");
  });
}

}  // extern "C"
