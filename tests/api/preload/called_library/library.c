/* A library that calls two functions of whoever loads it. */
int slots_test_free(unsigned long long);
int slots_test_count(int*);

int call_free(void) { return slots_test_free(1); }
int call_count(void) { return slots_test_count(0); }
