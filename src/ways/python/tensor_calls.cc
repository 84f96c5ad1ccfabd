#include "ways/python/tensor_calls.h"

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

TensorCalls::TensorCalls(int gpu, PythonFunctions functions)
    : gpu_(nb::cast(gpu)),
      python_(std::move(functions)),
      data_ptr_(name("data_ptr")),
      numel_(name("numel")),
      dtype_(name("dtype")),
      device_(name("device")),
      layout_(name("layout")),
      is_contiguous_(name("is_contiguous")),
      is_neg_(name("is_neg")),
      requires_grad_(name("requires_grad")),
      is_inference_(name("is_inference")) {}

bool TensorCalls::Seen::is(const Seen& other) const {
  return address == other.address && elements == other.elements && contiguous == other.contiguous &&
         negated == other.negated && watched == other.watched && type.equal(other.type) &&
         layout.equal(other.layout) && device.equal(other.device);
}

bool TensorCalls::is_tensor(nb::handle thing) const { return thing.type().is(python_.tensor); }

TensorCalls::Seen TensorCalls::seen(nb::handle tensor) const {
  return {.address = nb::cast<std::uintptr_t>(tensor.attr(data_ptr_)()),
          .elements = nb::cast<std::uint64_t>(tensor.attr(numel_)()),
          .type = tensor.attr(dtype_),
          .device = tensor.attr(device_),
          .layout = tensor.attr(layout_),
          .contiguous = is_true(tensor.attr(is_contiguous_)()),
          .negated = is_true(tensor.attr(is_neg_)()),
          .watched = is_true(tensor.attr(requires_grad_)) && is_true(python_.is_grad_enabled())};
}

// Not all layouts have an address: the checks say what is wrong.
std::optional<TensorCalls::Tensors> TensorCalls::see(nb::handle tensor, nb::handle output) const {
  if (!is_tensor(tensor) || !(output.is_none() || is_tensor(output))) return std::nullopt;
  try {
    Tensors tensors{seen(tensor), std::nullopt};
    if (!output.is_none()) tensors.taken = seen(output);
    return tensors;
  } catch (const nb::python_error& error) {
    if (!error.matches(PyExc_RuntimeError)) throw;
    return std::nullopt;
  }
}

nb::object TensorCalls::find(nb::handle what, const Tensors& tensors) const {
  const auto [first, end] = known_.equal_range(tensors.given.address);
  const auto found = std::find_if(first, end, [&](const auto& entry) {
    const auto& [given, taken] = entry.second.tensors;
    return given.is(tensors.given) && taken.has_value() == tensors.taken.has_value() &&
           (!taken || taken->is(*tensors.taken)) && entry.second.what.equal(what);
  });
  return found == end ? nb::object() : found->second.call;
}

void TensorCalls::keep(nb::object what, nb::handle tensor, nb::handle output, nb::object call) {
  auto tensors = see(tensor, output);
  if (!tensors || find(what, *tensors).is_valid()) return;
  if (known_.size() >= kMostKnown) known_.clear();
  const std::uintptr_t address = tensors->given.address;
  known_.emplace(address, Known{std::move(what), std::move(*tensors), std::move(call)});
}

bool TensorCalls::run(nb::handle what, nb::handle tensor, nb::handle output) {
  const auto tensors = see(tensor, output);
  const nb::object call = tensors ? find(what, *tensors) : nb::object();
  if (!call.is_valid()) return false;
  python_.run(call, python_.current_stream(gpu_));
  note_write(output.is_none() ? tensor : output);
  return true;
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
