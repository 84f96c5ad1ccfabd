#include "mpi/aside.h"

#include <utility>

namespace polypath::mpi {

Aside::Aside(const Library& library, Handle comm, std::unique_ptr<Member> member)
    : library_(library), comm_(comm), member_(std::move(member)) {}

Aside::~Aside() {
  is_ending_ = true;
  if (!is_idle()) member_->abort("MPI is about to end.");
  thread_.stop();
}

void Aside::free() noexcept {
  thread_.stop();
  member_->internode()->free_communicators();
  member_.reset();
  library_.real.Comm_free(&comm_);
}

}  // namespace polypath::mpi
