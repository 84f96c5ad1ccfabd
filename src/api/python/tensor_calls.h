#pragma once
// Calls of PyTorch's tensors that have passed the checks of the package. A call is found again by
// all that those look at, in less time than Python takes to put it together, and run.

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "api/python/collective_rank.h"
#include "api/python/dlpack_exchange.h"

namespace polypath::python {

/// The Python objects that TensorCalls needs.
struct PythonFunctions {
  nanobind::object tensor;           ///< the class; of its subclasses nothing is known
  nanobind::object note_write;       ///< of a tensor: autograd learns that it changes; or None
  nanobind::object is_grad_enabled;  ///< of nothing
  nanobind::object current_stream;   ///< of a GPU's number; None: as DLPack's function says
};

/// The class TensorCalls of the Python package. The interpreter's lock guards it.
class TensorCalls {
 public:
  /// Of a rank on that GPU, as CUDA counts them. Errors: as of DlpackExchange.
  TensorCalls(nanobind::object rank, int gpu, PythonFunctions functions);

  /// Remembers a call, an object of Python that is a PersistentCall. `what` stands for all that is
  /// asked for beside the tensors; the output is None in place.
  void keep(nanobind::object what, nanobind::handle tensor, nanobind::handle output,
            nanobind::object call);
  /// Enqueues the call on the GPU's current stream, and notes that its memory is written to. False
  /// if it is not remembered: nothing has been done then.
  bool run(nanobind::handle what, nanobind::handle tensor, nanobind::handle output);

 private:
  /// A property that a later check could reject makes the tensor a different `Seen`.
  struct Seen {
    TensorMemory memory;
    bool negated = false;  ///< when read; no complex numbers pass, conjugated or not
    bool watched = false;  ///< by autograd

    bool operator==(const Seen&) const = default;
  };
  struct Tensors {
    Seen given;
    std::optional<Seen> taken;  ///< none in place

    bool operator==(const Tensors&) const = default;
  };
  struct Known {
    nanobind::object what;
    Tensors tensors;
    nanobind::object call;
  };

  [[nodiscard]] std::optional<Seen> see(nanobind::handle tensor) const;
  [[nodiscard]] std::optional<Tensors> see(nanobind::handle tensor, nanobind::handle output) const;
  /// Empty if it is not remembered.
  [[nodiscard]] nanobind::object find(nanobind::handle what, const Tensors& tensors) const;
  [[nodiscard]] StreamHandle current_stream() const;
  void note_write(nanobind::handle tensor) const;

  nanobind::object kept_;  ///< the rank
  CollectiveRank& rank_;
  int gpu_;
  PythonFunctions python_;
  DlpackExchange exchange_;
  nanobind::object is_neg_, requires_grad_, is_inference_;  // names of attributes
  std::unordered_multimap<std::uintptr_t, Known> known_;    ///< by the first tensor's address
};

}  // namespace polypath::python
