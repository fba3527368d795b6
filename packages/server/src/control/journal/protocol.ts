/** Messages between the main thread and the journal thread. All values can be cloned. */
import type { TypedFilter } from '../../odata/index.ts'
import type { Query } from '../../store/store.ts'

/** A call without its number. */
export interface CallText {
  /** World times in milliseconds since 1970. */
  readonly began: number
  readonly ended: number
  /** JSON members that other calls have as well, each after a comma. Stored once for all calls of a part that share them. */
  readonly shared: string
  /** All other members. With `answer`, the text ends inside the answer object, in front of its size. */
  readonly own: string
  /** The complete body of the answer, not empty; the journal thread escapes and measures it. */
  readonly answer?: string | undefined
}

/** Packed calls in the first `length` bytes of a buffer. Messages transfer the buffer to their receiver. */
export interface PackedPart {
  readonly buffer: ArrayBuffer
  readonly length: number
  readonly count: number
  /** Size of its calls as bounds count it: a shared text counts for each call. */
  readonly sizeBytes: number
}

export interface Bounds {
  readonly maximumCalls: number
  readonly maximumSizeBytes: number
}

export interface JournalState {
  /** Number of the oldest call; `last + 1` in an empty journal. */
  readonly first: number
  readonly last: number
  readonly sizeBytes: number
  readonly dropped: number
  readonly missed: number
}

export interface PageOfCalls {
  readonly documents: readonly string[]
  readonly total: number
  /** State of the journal when the page was read. */
  readonly state: JournalState
}

export interface ExcerptRequest {
  readonly after: number
  readonly upTo?: number
  readonly filter?: TypedFilter
  readonly maximumCalls: number
  readonly maximumBytes: number
}

export interface Excerpt {
  readonly calls: readonly { readonly sequence: number; readonly document: string }[]
  /** Number to pass as `after` of the next excerpt. */
  readonly readUpTo: number
  readonly isComplete: boolean
  /** Calls after the requested number that were dropped already. */
  readonly missed: number
  readonly last: number
}

export interface TallyRequest {
  readonly after: number
  readonly filter?: TypedFilter
  /** Maximum number of sequence numbers in the result. */
  readonly matching: number
}

export interface Tally {
  readonly count: number
  readonly matching: readonly number[]
  readonly last: number
}

export interface NearMisses {
  readonly documents: readonly string[]
}

/** Each query is answered once, after all earlier writes. */
export type Question =
  | QuestionAboutCalls
  | { readonly asks: 'state' }
  | { readonly asks: 'clear' }
  /** Deletes the journal. */
  | { readonly asks: 'remove' }
  | { readonly asks: 'close' }

export type QuestionAboutCalls =
  | { readonly asks: 'page'; readonly query: Query }
  | { readonly asks: 'excerpt'; readonly wanted: ExcerptRequest }
  | { readonly asks: 'tally'; readonly wanted: TallyRequest }
  | { readonly asks: 'near'; readonly terms: readonly TypedFilter[]; readonly limit: number }

export type AnswerTo<Q extends Question> = Q extends { asks: 'state' | 'clear' }
  ? JournalState
  : Q extends { asks: 'page' }
    ? PageOfCalls
    : Q extends { asks: 'excerpt' }
      ? Excerpt
      : Q extends { asks: 'tally' }
        ? Tally
        : Q extends { asks: 'near' }
          ? NearMisses
          : undefined

export type ToThread =
  | { readonly folder: string; readonly bounds: Bounds }
  | {
      readonly folder: string
      readonly parts: readonly PackedPart[]
      /** Calls dropped since the previous batch. */
      readonly missed: number
    }
  | { readonly folder: string; readonly number: number; readonly question: Question }
  /** Closes all journals and ends the thread. */
  | { readonly end: true }

export type FromThread =
  /** A batch was written or failed. Returns its buffers. */
  | {
      readonly folder: string
      readonly parts: readonly PackedPart[]
      readonly missed: number
      readonly failed?: string
    }
  | { readonly number: number; readonly answer: unknown }
  | { readonly number: number; readonly stopped: true }
  | { readonly number: number; readonly failed: string }
