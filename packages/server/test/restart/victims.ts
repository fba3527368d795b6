/** Processes to kill: the next one loads while the last one dies. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Order } from './victim.ts'

const program = fileURLToPath(new URL('victim.ts', import.meta.url))

export interface Victim {
  readonly url: string
  /** Resolves with the signal that ended it. */
  readonly dead: Promise<string>
  kill(): void
}

export class Victims {
  #next: ChildProcess | undefined
  readonly #living = new Set<ChildProcess>()
  /** What Node makes of the sources: most of a start is reading them. */
  readonly #cache = mkdtempSync(join(tmpdir(), 'hyperplane-victims-'))

  #spawn(): ChildProcess {
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program], {
      env: { ...process.env, NODE_COMPILE_CACHE: this.#cache },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#living.add(child)
    child.once('exit', () => this.#living.delete(child))
    return child
  }

  /** A service on this folder. */
  async start(order: Order): Promise<Victim> {
    const child = this.#next ?? this.#spawn()
    this.#next = undefined
    const dead = once(child, 'exit').then(([code, signal]) => String(signal ?? code))
    const lines = createInterface({ input: child.stdout! })
    child.stdin!.write(`${JSON.stringify(order)}\n`)
    const url = await Promise.race([
      once(lines, 'line').then(([line]) => line as string),
      dead.then((end) => Promise.reject(new Error(`it ended with ${end}`))),
    ])
    // The pipe stays open for as long as it lives: it must not end by a closed one.
    this.#next = this.#spawn()
    return { url, dead, kill: () => void child.kill('SIGKILL') }
  }

  async end(): Promise<void> {
    const ends = [...this.#living].map((child) => once(child, 'exit'))
    for (const child of this.#living) child.kill('SIGKILL')
    await Promise.all(ends)
    rmSync(this.#cache, { recursive: true, force: true })
  }
}
