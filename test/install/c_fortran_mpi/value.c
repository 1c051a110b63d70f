/* The part of the outside program that is in C: the values. */
double value(int rank, int step, int i);
double value(int rank, int step, int i) { return 100.0 * rank + 10.0 * step + i; }
