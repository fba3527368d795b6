/** What is said between those who record and read calls, and the thread that keeps them. Everything can be copied. */
import type { TypedFilter } from '../../odata/index.ts'
import type { Query } from '../../store/store.ts'

/** A call without its number. */
export interface CallText {
  /** World times in milliseconds since 1970. */
  readonly began: number
  readonly ended: number
  /** Members of its JSON that other calls have as well, with a comma in front of each. What they share is kept once. */
  readonly shared: string
  /** The others. Where an answer follows, they end within that, in front of its size. */
  readonly own: string
  /** The whole body of the answer as it is, not empty: to put it into JSON, and to tell its size, is work for the thread. */
  readonly answer?: string | undefined
}

/** Packed calls, in the first bytes of a buffer that belongs to whoever was told of it last. */
export interface PackedPart {
  readonly buffer: ArrayBuffer
  readonly length: number
  readonly count: number
  /** Of its calls, as bounds count it: what they share counts with each. */
  readonly sizeBytes: number
}

/** Of one world's journal. */
export interface Bounds {
  readonly maximumCalls: number
  readonly maximumSizeBytes: number
}

export interface JournalState {
  /** Number of the oldest call that is kept; one more than `last` where there is none. */
  readonly first: number
  readonly last: number
  readonly sizeBytes: number
  readonly dropped: number
  readonly missed: number
}

/** Calls as JSON. */
export interface PageOfCalls {
  readonly documents: readonly string[]
  readonly total: number
  /** When they were read. */
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
  /** The next one goes on here. */
  readonly readUpTo: number
  readonly isComplete: boolean
  /** Calls after the number that was asked for, which are no longer there. */
  readonly missed: number
  readonly last: number
}

export interface TallyRequest {
  readonly after: number
  readonly filter?: TypedFilter
  /** How many numbers are told. */
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

/** Each is answered once, after what was written before it. */
export type Question =
  | QuestionAboutCalls
  | { readonly asks: 'state' }
  | { readonly asks: 'clear' }
  /** Also closes the journal. */
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
      /** Calls that were lost before. */
      readonly missed: number
    }
  | { readonly folder: string; readonly number: number; readonly question: Question }
  /** Closes every journal. */
  | { readonly end: true }

export type FromThread =
  /** A write is done, or could not be. It is given back with its buffers. */
  | {
      readonly folder: string
      readonly parts: readonly PackedPart[]
      readonly missed: number
      readonly failed?: string
    }
  | { readonly number: number; readonly answer: unknown }
  | { readonly number: number; readonly stopped: true }
  | { readonly number: number; readonly failed: string }
