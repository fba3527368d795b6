import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import type { pino } from 'pino'
import type { Disk } from '../data-folder/disk.ts'
import { removeStore, storeFiles } from '../data-folder/store-files.ts'
import type { Store } from '../store/store.ts'
import { baselineOf, filesOf, flushLinks, type Links, shareFiles } from './files.ts'

interface WorldFilesOptions {
  readonly folder: string
  readonly name: string
  readonly disk: Disk
  readonly log: pino.Logger
}

export class WorldFiles {
  readonly #options: WorldFilesOptions
  readonly #stores: ReturnType<typeof storeFiles>
  readonly #baseline: ReturnType<typeof baselineOf>
  readonly #nextStore: string
  readonly #unfinishedBaseline: string
  readonly #discarded: { readonly store: string; readonly files: string }
  #removal: Promise<void>

  constructor(options: WorldFilesOptions) {
    const { folder } = options
    this.#options = options
    this.#stores = storeFiles(folder)
    this.#baseline = baselineOf(folder)
    this.#nextStore = `${this.#stores.first}.new`
    this.#unfinishedBaseline = `${this.#baseline.store}.new`
    this.#discarded = { store: `${this.#stores.first}-before`, files: `${filesOf(folder)}-before` }
    const { store, files } = this.#discarded
    this.#removal = this.#remove([files, store, this.#nextStore, this.#unfinishedBaseline])
  }

  async keepBaseline(store: Store): Promise<void> {
    const { folder, disk } = this.#options
    await this.#removal
    for (const file of [this.#baseline.store, this.#unfinishedBaseline]) removeStore(file)
    rmSync(this.#baseline.files, { recursive: true, force: true })
    const links: Links[] = []
    await store.copyTo(
      this.#unfinishedBaseline,
      () => void links.push(shareFiles(filesOf(folder), this.#baseline.files)),
    )
    await Promise.all([disk.flush(this.#unfinishedBaseline), ...links.map((each) => flushLinks(disk, each))])
    // Write to a temporary name, then rename: a truncated baseline would corrupt every later reset.
    renameSync(this.#unfinishedBaseline, this.#baseline.store)
    await disk.flushFolder(folder)
  }

  /** Durable; for `installBaseline`. Does nothing without a baseline. */
  async copyBaseline(): Promise<void> {
    const { disk } = this.#options
    if (!existsSync(this.#baseline.store)) return
    await this.#removal
    await disk.copy(this.#baseline.store, this.#nextStore)
    await disk.flush(this.#nextStore)
  }

  /** The closed store first, the next one last: after a crash between them the whole reset is repeated. */
  async discardStore(): Promise<void> {
    const { first, second, kept } = this.#stores
    await this.#removal
    // Removing a large file takes long.
    if (existsSync(first)) renameSync(first, this.#discarded.store)
    // An export may have it open. Flush before deleting the WAL: a crash must not bring the database back without it.
    if (existsSync(`${first}-wal`)) await this.#options.disk.flushFolder(this.#options.folder)
    // SQLite would replay a remaining WAL into the next store.
    for (const file of [first, second, kept]) removeStore(file)
  }

  async installBaseline(): Promise<void> {
    const { folder, disk } = this.#options
    await this.#removal
    if (existsSync(filesOf(folder))) renameSync(filesOf(folder), this.#discarded.files)
    this.#removal = this.#remove([this.#discarded.files, this.#discarded.store])
    if (!existsSync(this.#baseline.store)) return
    await flushLinks(disk, shareFiles(this.#baseline.files, filesOf(folder)))
    renameSync(this.#nextStore, this.#stores.first)
    await disk.flushFolder(folder)
  }

  /** Fills the folder of a new world: the copy is its state and its baseline. */
  async copyTo(folder: string, store: Store): Promise<void> {
    const { disk } = this.#options
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const baseline = baselineOf(folder)
    const { first } = storeFiles(folder)
    const links: Links[] = []
    await store.copyTo(baseline.store, () => {
      for (const target of [filesOf(folder), baseline.files])
        links.push(shareFiles(filesOf(this.#options.folder), target))
    })
    await disk.copy(baseline.store, first)
    await Promise.all([first, baseline.store].map((file) => disk.flush(file)))
    await Promise.all(links.map((each) => flushLinks(disk, each)))
    await disk.flushFolder(folder)
  }

  removed(): Promise<void> {
    return this.#removal
  }

  async #remove(paths: readonly string[]): Promise<void> {
    const { log, name } = this.#options
    try {
      for (const path of paths) await rm(path, { recursive: true, force: true })
    } catch (error) {
      log.warn({ err: error, world: name }, 'files of a discarded state cannot be removed; the next start tries again')
    }
  }
}
