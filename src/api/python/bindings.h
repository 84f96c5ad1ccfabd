#pragma once
// The parts of the extension module. scripts/write_stub.py makes python/polypath/_core.pyi of the
// signatures and texts given here.

#include <nanobind/nanobind.h>

namespace polypath::python {

void bind_reports(nanobind::module_& module);
void bind_streams_and_buffers(nanobind::module_& module);
void bind_context(nanobind::module_& module);
void bind_collectives(nanobind::module_& module);

}  // namespace polypath::python
