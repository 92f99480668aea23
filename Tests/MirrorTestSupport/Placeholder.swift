/// Nothing yet.
public enum Placeholder {}
