/** Changes to the files of one world: keeps its baseline, discards its state, and installs the baseline as the new state. */

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
  /** Temporary names: the next store of a reset, and the store of a baseline that is being written. */
  readonly #nextStore: string
  readonly #unfinishedBaseline: string
  /** Names of a state that was discarded, possibly by an earlier process. */
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

  /** Copies the present state of `store` and of the files beside it, for every later reset. */
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

  /** Copies the baseline, durably, to the temporary name that `installBaseline` expects. Without a baseline it does nothing. */
  async copyBaseline(): Promise<void> {
    const { disk } = this.#options
    if (!existsSync(this.#baseline.store)) return
    await this.#removal
    await disk.copy(this.#baseline.store, this.#nextStore)
    await disk.flush(this.#nextStore)
  }

  /** Discards the closed store first and installs the next one last: a crash between the two repeats the whole reset. */
  async discardStore(): Promise<void> {
    const { first, second, kept } = this.#stores
    await this.#removal
    // Renamed now and removed later, because the removal of a large file takes long.
    if (existsSync(first)) renameSync(first, this.#discarded.store)
    // An export may still have this file open. Flush the rename before deleting the WAL, so that a crash cannot bring the
    // database back without it.
    if (existsSync(`${first}-wal`)) await this.#options.disk.flushFolder(this.#options.folder)
    // SQLite would replay a remaining WAL into the next store.
    for (const file of [first, second, kept]) removeStore(file)
  }

  /** Puts the copied baseline in the place of the discarded state. Without a baseline the store stays missing. */
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

  /** Copies the state between two commits of `store` to the folder of a new world, as its state and as its baseline. */
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

  /** Resolves when discarded files are removed, or were left to the next start. */
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
