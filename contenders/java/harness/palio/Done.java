package palio;

/** An iteration as it is printed; without `counted`, its work means nothing. */
record Done(String answer, long ops, long work, boolean counted) {
    static Done of(Iteration iteration) {
        return new Done(
                Long.toUnsignedString(iteration.answer()), iteration.ops(), iteration.work(), true);
    }
}
