// Which MPI a library is.

#include "mpi/library.h"

#include <gtest/gtest.h>

#include <string>

#include "support/layers.h"

namespace polypath::test::mpi_library_test {
namespace {

using mpi::Abi;
using mpi::Library;
using mpi::library_of;

int some_object = 0;

void* function_or_object(const std::string& name, bool has_objects) {
  if (name.starts_with("PMPI_") || (has_objects && name.starts_with("ompi_"))) return &some_object;
  return nullptr;
}

TEST(LibraryOf, KnowsOpenMpiByItsObjects) {
  const auto found = library_of([](const char* name) { return function_or_object(name, true); },
                                "/usr/lib/libmpi.so.40");

  ASSERT_TRUE(found);
  EXPECT_EQ(found->abi, Abi::open_mpi);
  EXPECT_EQ(found->world, reinterpret_cast<mpi::Handle>(&some_object));
}

TEST(LibraryOf, KnowsMpichByTheLackOfThem) {
  const auto found = library_of([](const char* name) { return function_or_object(name, false); },
                                "/usr/lib/libmpi.so.12");

  ASSERT_TRUE(found);
  EXPECT_EQ(found->abi, Abi::mpich);
  EXPECT_EQ(found->operator_of(0x58000003), ReduceOperator::sum);
}

TEST(LibraryOf, KnowsTheStandardInterfaceByItsFile) {
  const auto found = library_of([](const char* name) { return function_or_object(name, false); },
                                "/usr/lib/libmpi_abi.so.1");

  ASSERT_TRUE(found);
  EXPECT_EQ(found->abi, Abi::standard);
  EXPECT_EQ(found->operator_of(0x23), ReduceOperator::maximum);
}

TEST(LibraryOf, IsNoneWithoutItsFunctions) {
  EXPECT_FALSE(library_of([](const char*) { return nullptr; }, "/usr/lib/libmpich.so"));
}

TEST(Handles, AreHalfAWordInMpich) {
  Library mpich{.abi = Abi::mpich}, other{.abi = Abi::open_mpi};
  const mpi::Handle given = 0xdeadbeef44000000;
  const std::uint32_t halves[] = {1, 2};

  EXPECT_EQ(mpich.handle(given), 0x44000000u);
  EXPECT_EQ(other.handle(given), given);
  EXPECT_EQ(mpich.handle_at(halves, 1), 2u);
}

}  // namespace
}  // namespace polypath::test::mpi_library_test
