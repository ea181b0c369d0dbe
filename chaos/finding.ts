/** Whether what is promised held under one fault, and what was seen. */
export type Finding = { name: string; held: boolean; observed: string };
