package shufflelifecycle;

/** Who writes a shuffle now, in words. To be asked in the scheduler's thread. */
class Writers implements Work {
  private final Users users;
  private final int shuffle;

  Writers(Users users, int shuffle) {
    this.users = users;
    this.shuffle = shuffle;
  }

  public Object run() {
    return users.writersOf(shuffle);
  }
}
