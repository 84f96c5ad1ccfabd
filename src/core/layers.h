#pragma once
// The namespaces of the layers, and whose names each one finds without saying where they are from:
// those of the layers that its folder may use (CMakeLists.txt, the map in docs/architecture.md). A
// name of its own hides the same name of a layer below. What is in core/ is in polypath itself.

// NOLINTBEGIN(google-build-using-namespace): one place for all layers, so that no file does it
namespace polypath {

namespace communicator {}
namespace machine {}
namespace model {
using namespace machine;
}
namespace kernels {
using namespace model;
}
namespace plan {
using namespace kernels;
}
namespace driver {
using namespace kernels;
}
namespace cuda {
using namespace driver;
}
namespace sim {
using namespace driver;
}
namespace trace {
using namespace driver;
}
namespace probe {
using namespace driver;
}
namespace engine {
using namespace driver;
using namespace plan;
}  // namespace engine
namespace collective {
using namespace communicator;
using namespace engine;
}  // namespace collective
namespace nccl {
using namespace collective;
}
namespace mpi {
using namespace collective;
}
namespace context {
using namespace engine;
using namespace probe;
}  // namespace context
namespace bench {
using namespace collective;
using namespace context;
}  // namespace bench
namespace c {
using namespace collective;
using namespace context;
}  // namespace c
namespace python {
using namespace bench;
using namespace mpi;
}  // namespace python
namespace preload {
using namespace context;
using namespace mpi;
using namespace nccl;
}  // namespace preload
namespace standin {
using namespace driver;
}

}  // namespace polypath
// NOLINTEND(google-build-using-namespace)
