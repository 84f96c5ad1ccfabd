/* A library that calls two functions of whoever loads it. */
int redirect_test_free(unsigned long long);
int redirect_test_count(int*);

int call_free(void) { return redirect_test_free(1); }
int call_count(void) { return redirect_test_count(0); }
