package shufflelifecycle;

/** Who writes a shuffle now, or reads it too, in words. To be asked in the scheduler's thread. */
class UsersNow implements Work {
  private final Users users;
  private final int shuffle;
  private final boolean readersToo;

  UsersNow(Users users, int shuffle, boolean readersToo) {
    this.users = users;
    this.shuffle = shuffle;
    this.readersToo = readersToo;
  }

  public Object run() {
    return readersToo ? users.of(shuffle) : users.writersOf(shuffle);
  }
}
