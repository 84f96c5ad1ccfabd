// Modules and kernels. The stand-in knows a kernel by its name; it does not read the image.

#include <cstring>
#include <set>
#include <string>

#include "standin/state/process.h"

namespace polypath::standin {
namespace {

// Function pointers point to these names; the set keeps each where it is.
const std::string& interned(const std::string& name) {
  static std::set<std::string> names;
  return *names.insert(name).first;
}

// Parameters are given as one buffer, as Polypath gives them.
KernelWork work_of(FunctionPointer function, void** extra) {
  if (function == nullptr) refuse(kInvalidValue, "there is no such function");
  KernelWork work{.name = *reinterpret_cast<const std::string*>(function), .words = {}};
  if (extra == nullptr || extra[0] != cuda::kParameterBuffer ||
      extra[2] != cuda::kParameterBufferSize)
    refuse(kNotSupported, "parameters are given as a buffer, or not at all");
  work.words.resize(*static_cast<const std::size_t*>(extra[3]) / sizeof(std::uint64_t));
  std::memcpy(work.words.data(), extra[1], work.words.size() * sizeof(std::uint64_t));
  return work;
}

CopyNode node_of(const KernelParameters* parameters) {
  if (parameters == nullptr) refuse(kInvalidValue, "there is nothing to run");
  CopyNode node;
  node.kernel = work_of(parameters->function, parameters->extra);
  return node;
}

}  // namespace
}  // namespace polypath::standin

using namespace polypath::standin;

STANDIN_EXPORT Result cuModuleLoadData(ModulePointer* where, const void* image) {
  return enter("cuModuleLoadData", [&](Process&) {
    if (image == nullptr) refuse(kInvalidValue, "there is no image");
    static int module = 0;
    store(where, reinterpret_cast<ModulePointer>(&module));
  });
}

STANDIN_EXPORT Result cuModuleUnload(ModulePointer) {
  return enter("cuModuleUnload", [](Process&) {});
}

STANDIN_EXPORT Result cuModuleGetFunction(FunctionPointer* where, ModulePointer, const char* name) {
  return enter("cuModuleGetFunction", [&](Process& process) {
    if (name == nullptr || !process.runner->knows_kernel(name))
      refuse(kNotSupported, "there is nothing in the place of that kernel");
    const std::string& kept = interned(name);
    store(where, reinterpret_cast<FunctionPointer>(const_cast<std::string*>(&kept)));
  });
}

STANDIN_EXPORT Result cuLaunchKernel(FunctionPointer function, unsigned, unsigned, unsigned,
                                     unsigned, unsigned, unsigned, unsigned, StreamPointer pointer,
                                     void**, void** extra) {
  return enter("cuLaunchKernel", [&](Process& process) {
    KernelWork work = work_of(function, extra);
    Stream& stream = process.stream({pointer, DefaultStream::legacy}, WorkKind::kernel);
    if (!stream.capturing.active()) return process.runner->run(work, stream.work);
    CopyNode node;
    node.kernel = std::move(work);
    add_copy(stream.capturing, std::move(node));
  });
}

STANDIN_EXPORT Result cuGraphAddKernelNode(GraphNodePointer* where, GraphPointer graph,
                                           const GraphNodePointer* after, std::size_t count,
                                           const KernelParameters* parameters) {
  return enter("cuGraphAddKernelNode", [&](Process& process) {
    store(where, process.graphs.add(graph, node_of(parameters), {after, after + count}));
  });
}

STANDIN_EXPORT Result cuGraphExecKernelNodeSetParams(GraphExecPointer graph, GraphNodePointer node,
                                                     const KernelParameters* parameters) {
  return enter("cuGraphExecKernelNodeSetParams",
               [&](Process& process) { process.graphs.update(graph, node, node_of(parameters)); });
}
