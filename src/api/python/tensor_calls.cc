#include "api/python/tensor_calls.h"

#include <algorithm>
#include <utility>

namespace nb = nanobind;

namespace polypath::python {
namespace {

constexpr std::size_t kMostKnown = 4096;  // as those of other frameworks, MOST_KNOWN

// The interpreter keeps what it has found by a name, as long as it is asked with the same object.
nb::object name(const char* text) { return nb::steal(PyUnicode_InternFromString(text)); }

bool is_true(nb::handle value) { return value.is(nb::handle(Py_True)); }

}  // namespace

TensorCalls::TensorCalls(nb::object rank, int gpu, PythonFunctions functions)
    : kept_(std::move(rank)),
      rank_(nb::cast<CollectiveRank&>(kept_)),
      gpu_(gpu),
      python_(std::move(functions)),
      exchange_(python_.tensor),
      is_neg_(name("is_neg")),
      requires_grad_(name("requires_grad")),
      is_inference_(name("is_inference")) {}

// Not all layouts have memory: the checks say what is wrong.
std::optional<TensorCalls::Seen> TensorCalls::see(nb::handle tensor) const {
  if (!tensor.type().is(python_.tensor)) return std::nullopt;
  const auto memory = exchange_.memory(tensor);
  if (!memory) return std::nullopt;
  return Seen{
      .memory = *memory,
      .negated = is_true(tensor.attr(is_neg_)()),
      .watched = is_true(tensor.attr(requires_grad_)) && is_true(python_.is_grad_enabled())};
}

std::optional<TensorCalls::Tensors> TensorCalls::see(nb::handle tensor, nb::handle output) const {
  const auto given = see(tensor);
  if (!given) return std::nullopt;
  if (output.is_none()) return Tensors{*given, std::nullopt};
  const auto taken = see(output);
  return taken ? std::optional(Tensors{*given, taken}) : std::nullopt;
}

nb::object TensorCalls::find(nb::handle what, const Tensors& tensors) const {
  const auto [first, end] = known_.equal_range(tensors.given.memory.address);
  const auto found = std::find_if(first, end, [&](const auto& entry) {
    return entry.second.tensors == tensors && entry.second.what.equal(what);
  });
  return found == end ? nb::object() : found->second.call;
}

void TensorCalls::keep(nb::object what, nb::handle tensor, nb::handle output, nb::object call) {
  const auto tensors = see(tensor, output);
  if (!tensors || find(what, *tensors).is_valid()) return;
  if (known_.size() >= kMostKnown) known_.clear();
  known_.emplace(tensors->given.memory.address, Known{std::move(what), *tensors, std::move(call)});
}

bool TensorCalls::run(nb::handle what, nb::handle tensor, nb::handle output) {
  const auto tensors = see(tensor, output);
  const nb::object call = tensors ? find(what, *tensors) : nb::object();
  if (!call.is_valid()) return false;
  rank_.run(nb::cast<PersistentCall&>(call), current_stream());
  note_write(output.is_none() ? tensor : output);
  return true;
}

StreamHandle TensorCalls::current_stream() const {
  if (!python_.current_stream.is_none()) return rank_.stream(python_.current_stream(gpu_));
  return rank_.stream(exchange_.current_stream(gpu_));
}

// Tensors of inference have no version to count; to ask each of them first takes longer.
void TensorCalls::note_write(nb::handle tensor) const {
  if (python_.note_write.is_none()) return;
  try {
    python_.note_write(tensor);
  } catch (const nb::python_error&) {
    if (!is_true(tensor.attr(is_inference_)())) throw;
  }
}

}  // namespace polypath::python
