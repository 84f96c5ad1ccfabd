#pragma once
// Graphs of a random program.

#include "random_world.h"

namespace program {

// A few copies, one after the other, launched more than once.
inline void World::graph() {
  Stream& stream = actors_.any_stream();
  if (stream.kind != StreamKind::non_blocking || !size_.alone) return;
  std::vector<Copy> copies;
  for (std::size_t i = 1 + chance_.below(3); i > 0; --i) {
    const Copy copy = any_copy(chance_, buffers_);
    const auto is_simple = [](Kind kind) { return kind != Kind::managed && kind != Kind::mapped; };
    const bool simple = !copy.pageable() && is_simple(copy.to->kind) && is_simple(copy.from->kind);
    if (simple) copies.push_back(copy);
  }
  if (!copies.empty()) launch_often(stream, copies);
}

inline void World::launch_often(Stream& stream, const std::vector<Copy>& copies) {
  CUgraphExec executable = nullptr;
  if (!instantiate(stream, copies, executable)) return;
  ++graphs_;
  std::vector<Access> accesses;
  for (const Copy& copy : copies)
    for (const Access& access : copy.accesses()) accesses.push_back(access);
  for (std::size_t i = 1 + chance_.below(3); i > 0; --i) {
    Stream& into = actors_.any_stream_of(stream.gpu);
    actors_.order(into, accesses);
    if (actors_.call_in(into, [&] { return cuGraphLaunch(executable, into.handle); }) != 0)
      continue;
    for (const Copy& copy : copies) copy.apply();
    actors_.enqueued(into, accesses);
    if (chance_.one_in(2)) actors_.synchronize(into);
  }
  actors_.synchronize_context(stream.gpu);
  actors_.call(stream.gpu, [&] { return cuGraphExecDestroy(executable); });
}

inline bool World::instantiate(const Stream& stream, const std::vector<Copy>& copies,
                               CUgraphExec& executable) {
  CUgraph graph = nullptr;
  const CUresult result = actors_.call(stream.gpu, [&] {
    CUresult all = cuStreamBeginCapture_v2(stream.handle, 0);
    for (const Copy& copy : copies)
      if (all == 0)
        all = cuMemcpyAsync(copy.destination(), copy.source(), copy.bytes, stream.handle);
    const CUresult ended = cuStreamEndCapture(stream.handle, &graph);
    if (all == 0 && ended == 0) all = cuGraphInstantiateWithFlags(&executable, graph, 0);
    if (graph != nullptr) cuGraphDestroy(graph);
    return all != 0 ? all : ended;
  });
  return result == 0;
}

}  // namespace program
