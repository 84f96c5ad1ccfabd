! Collective calls on memory of GPUs, in Fortran. Rank 0 prints "right" if every element is.
program fortran
  use iso_c_binding
#ifdef F08
  use mpi_f08
#else
  use mpi
#endif
  implicit none
  interface
    subroutine open_gpu(gpu) bind(c)
      import c_int
      integer(c_int), value :: gpu
    end subroutine
    function gpu_floats(count) bind(c)
      import c_ptr, c_int
      integer(c_int), value :: count
      type(c_ptr) :: gpu_floats
    end function
    subroutine write_floats(to, from, count) bind(c)
      import c_ptr, c_int, c_float
      type(c_ptr), value :: to
      integer(c_int), value :: count
      real(c_float) :: from(*)
    end subroutine
    subroutine read_floats(from, to, count) bind(c)
      import c_ptr, c_int, c_float
      type(c_ptr), value :: from
      integer(c_int), value :: count
      real(c_float) :: to(*)
    end subroutine
  end interface
  integer, parameter :: n = 1000
  integer :: rank, ranks, i, j, which
  logical :: right, done
  type(c_ptr) :: given_at, taken_at
  real(c_float), pointer :: given(:), taken(:)
  real(c_float) :: host(8 * n)
#ifdef F08
  type(MPI_Request) :: requests(2)
#else
  integer :: requests(2), error
#endif
  integer :: all_right, mine

#ifdef F08
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
#else
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
#endif
  call open_gpu(rank)
  given_at = gpu_floats(n)
  taken_at = gpu_floats(n * ranks)
  call c_f_pointer(given_at, given, [n])
  call c_f_pointer(taken_at, taken, [n * ranks])
  do i = 1, n
    host(i) = real(rank + i)
  end do
  call write_floats(given_at, host, n)
  right = .true.

#ifdef F08
  call MPI_Allreduce(given, taken, n, MPI_REAL, MPI_SUM, MPI_COMM_WORLD)
#else
  call MPI_Allreduce(given, taken, n, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, error)
#endif
  call read_floats(taken_at, host, n)
  do i = 1, n
    right = right .and. host(i) == real(ranks * i + ranks * (ranks - 1) / 2)
  end do

  ! In place: the sum of equal sums.
#ifdef F08
  call MPI_Allreduce(MPI_IN_PLACE, taken, n, MPI_REAL, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Iallgather(given, n, MPI_REAL, taken, n, MPI_REAL, MPI_COMM_WORLD, requests(1))
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
#else
  call MPI_Allreduce(MPI_IN_PLACE, taken, n, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, error)
  call MPI_Iallgather(given, n, MPI_REAL, taken, n, MPI_REAL, MPI_COMM_WORLD, requests(1), error)
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE, error)
#endif
  call read_floats(taken_at, host, n * ranks)
  do j = 1, ranks
    do i = 1, n
      right = right .and. host((j - 1) * n + i) == real(j - 1 + i)
    end do
  end do

  ! Two at a time, which end in any order.
#ifdef F08
  call MPI_Ibcast(given, n, MPI_REAL, 0, MPI_COMM_WORLD, requests(1))
  call MPI_Iallreduce(MPI_IN_PLACE, taken, n, MPI_REAL, MPI_MAX, MPI_COMM_WORLD, requests(2))
  which = 0 ! MPICH 4.0's mpi_f08 counts from 0 here
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  call MPI_Testall(2, requests, done, MPI_STATUSES_IGNORE)
#else
  call MPI_Ibcast(given, n, MPI_REAL, 0, MPI_COMM_WORLD, requests(1), error)
  call MPI_Iallreduce(MPI_IN_PLACE, taken, n, MPI_REAL, MPI_MAX, MPI_COMM_WORLD, requests(2), error)
  call MPI_Waitany(2, requests, which, MPI_STATUS_IGNORE, error)
  right = right .and. (which == 1 .or. which == 2) .and. requests(which) == MPI_REQUEST_NULL
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
  call MPI_Testall(2, requests, done, MPI_STATUSES_IGNORE, error)
#endif
  right = right .and. done
  call read_floats(given_at, host, n)
  do i = 1, n
    right = right .and. host(i) == real(i)
  end do

  mine = merge(1, 0, right)
#ifdef F08
  call MPI_Allreduce(mine, all_right, 1, MPI_INTEGER, MPI_MIN, MPI_COMM_WORLD)
#else
  call MPI_Allreduce(mine, all_right, 1, MPI_INTEGER, MPI_MIN, MPI_COMM_WORLD, error)
#endif
  if (rank == 0 .and. all_right == 1) print '(a)', 'right'
#ifdef F08
  call MPI_Finalize()
#else
  call MPI_Finalize(error)
#endif
end program
