// Modules and kernels. The stand-in knows a kernel by its name; it does not read the image.

#include <cstring>
#include <map>
#include <string>

#include "standin/state/process.h"

namespace polypath::standin {
namespace {

// Function pointers point to these; the map keeps each where it is.
struct Function {
  std::string name;
  unsigned most_shared_bytes = 48 << 10;  // that a run may ask for
};
Function& interned(const std::string& name) {
  static std::map<std::string, Function> functions;
  return functions.try_emplace(name, Function{name}).first->second;
}
Function& function_of(FunctionPointer pointer) {
  if (pointer == nullptr) refuse(kInvalidValue, "there is no such function");
  return *reinterpret_cast<Function*>(pointer);
}

// CUfunction_attribute
constexpr int kSharedBytes = 1, kMostSharedBytes = 8;
constexpr int kDeclaredSharedBytes = 1 << 10;

// Parameters are given as one buffer, as Polypath gives them.
KernelWork work_of(FunctionPointer pointer, unsigned shared_bytes, void** extra) {
  const Function& function = function_of(pointer);
  if (shared_bytes > function.most_shared_bytes)
    refuse(kInvalidValue, "the kernel was not allowed so much shared memory");
  KernelWork work{.name = function.name, .words = {}};
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
  node.kernel = work_of(parameters->function, parameters->shared_bytes, parameters->extra);
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
    store(where, reinterpret_cast<FunctionPointer>(&interned(name)));
  });
}

STANDIN_EXPORT Result cuFuncGetAttribute(int* value, int attribute, FunctionPointer pointer) {
  return enter("cuFuncGetAttribute", [&](Process&) {
    const Function& function = function_of(pointer);
    if (attribute == kSharedBytes) return store(value, kDeclaredSharedBytes);
    if (attribute == kMostSharedBytes)
      return store(value, static_cast<int>(function.most_shared_bytes));
    refuse(kNotSupported, "there is no machine code to ask");
  });
}

STANDIN_EXPORT Result cuFuncSetAttribute(FunctionPointer pointer, int attribute, int value) {
  return enter("cuFuncSetAttribute", [&](Process&) {
    Function& function = function_of(pointer);
    if (attribute != kMostSharedBytes) refuse(kNotSupported, "nothing depends on that attribute");
    if (value < 0 || value > kSharedBytesOfBlock - kDeclaredSharedBytes)
      refuse(kInvalidValue, "a block has not so much shared memory");
    function.most_shared_bytes = static_cast<unsigned>(value);
  });
}

STANDIN_EXPORT Result cuLaunchKernel(FunctionPointer function, unsigned, unsigned, unsigned,
                                     unsigned, unsigned, unsigned, unsigned shared_bytes,
                                     StreamPointer pointer, void**, void** extra) {
  return enter("cuLaunchKernel", [&](Process& process) {
    KernelWork work = work_of(function, shared_bytes, extra);
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
