/** The journals of a process: one a world, all kept by one thread. */
import { join } from 'node:path'
import type { TypedFilter } from '../../odata/index.ts'
import type { Query } from '../../store/store.ts'
import { JournalThread, type JournalThreadOptions } from './journal-thread.ts'
import type {
  Bounds,
  CallText,
  Excerpt,
  ExcerptWanted,
  JournalState,
  PageOfCalls,
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
  /** @param call asked in the same turn, or before the next question; what it tells of was over when this was called */
  write(call: () => CallText): void
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
  of(folder: string): Journal
  /** The world begins anew: what was recorded goes. */
  remove(folder: string): Promise<void>
  /** The world goes, or the process stops: what was recorded is written, and nobody has the file open. */
  leave(folder: string): Promise<void>
  /** Ends what waits for calls, so that connections can close. */
  release(): void
  close(): Promise<void>
}

interface Open {
  readonly journal: Journal
  readonly ended: AbortController
  readonly listeners: Set<() => void>
}

export const journalFile = (folder: string): string => join(folder, 'journal.sqlite')

export function createJournals({ log }: Pick<JournalThreadOptions, 'log'>): Journals {
  const journals = new Map<string, Open>()
  const thread = new JournalThread({
    log,
    onWritten(file) {
      for (const told of journals.get(file)?.listeners ?? []) told()
    },
    isAwaited: (file) => (journals.get(file)?.listeners.size ?? 0) > 0,
  })

  function open(file: string): Open {
    let settings = usualSettings
    const ended = new AbortController()
    const listeners = new Set<() => void>()
    thread.setBounds(file, settings)
    const journal: Journal = {
      get settings() {
        return settings
      },
      configure(given) {
        settings = given
        thread.setBounds(file, given)
      },
      write(call) {
        // A request that ends late has no journal to go to.
        if (journals.get(file)?.journal === journal) thread.write(file, call)
      },
      state: () => thread.ask(file, { asks: 'state' }),
      page: (query) => thread.ask(file, { asks: 'page', query }),
      excerpt: (wanted) => thread.ask(file, { asks: 'excerpt', wanted }),
      tally: (wanted) => thread.ask(file, { asks: 'tally', wanted }),
      near: async (terms, limit) => (await thread.ask(file, { asks: 'near', terms, limit })).documents,
      clear: () => thread.ask(file, { asks: 'clear' }),
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

  function end(file: string): void {
    journals.get(file)?.ended.abort()
    journals.delete(file)
  }

  return {
    of(folder) {
      const file = journalFile(folder)
      let known = journals.get(file)
      if (known === undefined) journals.set(file, (known = open(file)))
      return known.journal
    },
    async remove(folder) {
      end(journalFile(folder))
      await thread.remove(journalFile(folder))
    },
    async leave(folder) {
      end(journalFile(folder))
      await thread.leave(journalFile(folder))
    },
    release() {
      for (const { ended } of journals.values()) ended.abort()
    },
    close: () => thread.close(),
  }
}
