#pragma once
// Calls of PyTorch's tensors that have passed the checks of the package. A call is found again by
// all that those look at, in less time than Python takes to put it together, and run.

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <unordered_map>

namespace polypath::python {

/// What is Python's.
struct PythonFunctions {
  nanobind::object run;              ///< of a CollectiveCall and a stream: enqueues it
  nanobind::object tensor;           ///< the class; of its subclasses nothing is known
  nanobind::object current_stream;   ///< of a GPU's number: its current stream's handle
  nanobind::object note_write;       ///< of a tensor: autograd learns that it changes; or None
  nanobind::object is_grad_enabled;  ///< of nothing
};

/// The class TensorCalls of the Python package. The interpreter's lock guards it.
class TensorCalls {
 public:
  /// Of a rank on that GPU, as CUDA counts them.
  TensorCalls(int gpu, PythonFunctions functions);

  /// Remembers a call. `what` stands for all that is asked for beside the tensors; the output is
  /// None in place.
  void keep(nanobind::object what, nanobind::handle tensor, nanobind::handle output,
            nanobind::object call);
  /// Enqueues the call on the GPU's current stream, and notes that its memory is written to. False
  /// if it is not remembered: nothing has been done then.
  bool run(nanobind::handle what, nanobind::handle tensor, nanobind::handle output);

 private:
  /// Whatever the checks find out later to be wrong makes it another one.
  struct Seen {
    std::uintptr_t address = 0;
    std::uint64_t elements = 0;
    nanobind::object type, device, layout;
    bool contiguous = false, negated = false;  // no complex numbers pass, conjugated or not
    bool watched = false;                      ///< by autograd

    [[nodiscard]] bool is(const Seen& other) const;
  };
  struct Tensors {
    Seen given;
    std::optional<Seen> taken;  ///< none in place
  };
  struct Known {
    nanobind::object what;
    Tensors tensors;
    nanobind::object call;
  };

  [[nodiscard]] bool is_tensor(nanobind::handle thing) const;
  [[nodiscard]] Seen seen(nanobind::handle tensor) const;
  [[nodiscard]] std::optional<Tensors> see(nanobind::handle tensor, nanobind::handle output) const;
  /// Empty if it is not remembered.
  [[nodiscard]] nanobind::object find(nanobind::handle what, const Tensors& tensors) const;
  void note_write(nanobind::handle tensor) const;

  nanobind::object gpu_;
  PythonFunctions python_;
  nanobind::object data_ptr_, numel_, dtype_, device_, layout_, is_contiguous_, is_neg_,
      requires_grad_, is_inference_;                      // names of attributes
  std::unordered_multimap<std::uintptr_t, Known> known_;  ///< by the first tensor's address
};

}  // namespace polypath::python
