/** The journals of a process: one a world, all kept by one thread. */
import { join } from 'node:path'
import type { TypedFilter } from '../../odata/index.ts'
import { type Query, QueryStopped } from '../../store/store.ts'
import { JournalThread, type JournalThreadOptions } from './journal-thread.ts'
import type {
  AnswerTo,
  Bounds,
  CallText,
  Excerpt,
  ExcerptWanted,
  JournalState,
  PageOfCalls,
  Question,
  Tally,
  TallyWanted,
} from './protocol.ts'

export interface JournalSettings extends Bounds {
  readonly isRecording: boolean
}

export const usualSettings: JournalSettings = {
  isRecording: true,
  maximumCalls: 100_000,
  maximumSizeBytes: 256 * 1024 * 1024,
}

export interface Journal {
  readonly settings: JournalSettings
  configure(settings: JournalSettings): void
  /**
   * @param call asked soon, and before the next question; what it tells of was over when this was called
   * @param heldBytes what it keeps in memory until then, where that may be much
   */
  write(call: () => CallText, heldBytes?: number): void
  state(): Promise<JournalState>
  page(query: Query): Promise<PageOfCalls>
  excerpt(wanted: ExcerptWanted): Promise<Excerpt>
  tally(wanted: TallyWanted): Promise<Tally>
  /** JSON of calls that meet most of these terms, but not all. */
  near(terms: readonly TypedFilter[], limit: number): Promise<readonly string[]>
  clear(): Promise<JournalState>
  /** Resolves when calls were written since this was asked, or the journal or `signal` ended. */
  changed(signal: AbortSignal): Promise<void>
  /** Aborted when nobody is to wait for calls any longer: the world goes or begins anew, or the process stops. */
  readonly ending: AbortSignal
}

export interface Journals {
  /** Of the world whose folder this is; made when it is first asked for. Touches no file. */
  of(world: string): Journal
  /** The world begins anew: what was recorded goes. */
  remove(world: string): Promise<void>
  /** The world goes, or the process stops: what was recorded is written, and nobody has its files open. */
  leave(world: string): Promise<void>
  /** Ends what waits for calls, so that connections can close. */
  release(): void
  close(): Promise<void>
}

interface Open {
  readonly journal: Journal
  readonly ended: AbortController
  readonly listeners: Set<() => void>
}

export const journalFolder = (world: string): string => join(world, 'journal')

export function createJournals({ log }: Pick<JournalThreadOptions, 'log'>): Journals {
  const journals = new Map<string, Open>()
  const thread = new JournalThread({
    log,
    onWritten(folder) {
      for (const told of journals.get(folder)?.listeners ?? []) told()
    },
    isAwaited: (folder) => (journals.get(folder)?.listeners.size ?? 0) > 0,
  })

  function open(folder: string): Open {
    let settings = usualSettings
    const ended = new AbortController()
    const listeners = new Set<() => void>()
    thread.setBounds(folder, settings)
    const isThere = (): boolean => journals.get(folder)?.journal === journal
    /** Of one that has ended nothing is found, and nothing of it comes back. */
    const ask = <Q extends Question>(question: Q): Promise<AnswerTo<Q>> =>
      isThere() ? thread.ask(folder, question) : Promise.reject(new QueryStopped('closing'))
    const journal: Journal = {
      get settings() {
        return settings
      },
      configure(given) {
        settings = given
        if (isThere()) thread.setBounds(folder, given)
      },
      write(call, heldBytes = 0) {
        // A request that ends late has no journal to go to.
        if (isThere()) thread.write(folder, call, heldBytes)
      },
      state: () => ask({ asks: 'state' }),
      page: (query) => ask({ asks: 'page', query }),
      excerpt: (wanted) => ask({ asks: 'excerpt', wanted }),
      tally: (wanted) => ask({ asks: 'tally', wanted }),
      near: async (terms, limit) => (await ask({ asks: 'near', terms, limit })).documents,
      clear: () => ask({ asks: 'clear' }),
      ending: ended.signal,
      changed: (signal) =>
        new Promise((resolve) => {
          const told = (): void => {
            listeners.delete(told)
            for (const each of [signal, ended.signal]) each.removeEventListener('abort', told)
            resolve()
          }
          if (signal.aborted || ended.signal.aborted) return told()
          listeners.add(told)
          for (const each of [signal, ended.signal]) each.addEventListener('abort', told)
        }),
    }
    return { journal, ended, listeners }
  }

  function end(folder: string): void {
    journals.get(folder)?.ended.abort()
    journals.delete(folder)
  }

  return {
    of(world) {
      const folder = journalFolder(world)
      let known = journals.get(folder)
      if (known === undefined) journals.set(folder, (known = open(folder)))
      return known.journal
    },
    async remove(world) {
      end(journalFolder(world))
      await thread.remove(journalFolder(world))
    },
    async leave(world) {
      end(journalFolder(world))
      await thread.leave(journalFolder(world))
    },
    release() {
      for (const { ended } of journals.values()) ended.abort()
    },
    close: () => thread.close(),
  }
}
