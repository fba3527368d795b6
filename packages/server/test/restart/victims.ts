/** Processes to kill: the next one loads while the last one dies. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { compiledSources } from '../support/compiled.ts'
import type { Order, StepMoment } from './victim.ts'

const program = fileURLToPath(new URL('victim.ts', import.meta.url))
const loader = new URL('../../src/boot/source-loader.ts', import.meta.url).href

export interface Victim {
  readonly url: string
  /** Resolves with the signal that ended it. */
  readonly dead: Promise<string>
  /** Resolves when it has ended itself. @throws when its moment did not come */
  mustDie(): Promise<void>
  /** From now on it ends itself at this moment. */
  endAt(moment: StepMoment): Promise<void>
  kill(): void
}

/** Nobody waits longer for a moment that does not come. */
const patienceMillis = 20_000

export class Victims {
  #next: ChildProcess | undefined
  readonly #living = new Set<ChildProcess>()

  #spawn(): ChildProcess {
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', '--import', loader, program], {
      env: { ...process.env, ...compiledSources },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#living.add(child)
    child.once('exit', () => this.#living.delete(child))
    return child
  }

  /** A service on this folder. */
  async start(order: Order): Promise<Victim> {
    const { child, dead } = this.#begin(order)
    const lines = createInterface({ input: child.stdout! })
    const url = await Promise.race([
      once(lines, 'line').then(([line]) => line as string),
      dead.then((end) => Promise.reject(new Error(`it ended with ${end}`))),
    ])
    // The pipe stays open for as long as it lives: it must not end by a closed one.
    return {
      url,
      dead,
      mustDie: () => mustDie(child, dead),
      endAt: async (moment) => {
        child.stdin!.write(`${JSON.stringify(moment)}\n`)
        await once(lines, 'line')
      },
      kill: () => void child.kill('SIGKILL'),
    }
  }

  /** A service that ends itself by what it finds to do when it starts. @throws when its moment did not come */
  async mustDie(order: Order): Promise<void> {
    const { child, dead } = this.#begin(order)
    await mustDie(child, dead)
  }

  #begin(order: Order): { readonly child: ChildProcess; readonly dead: Promise<string> } {
    const child = this.#next ?? this.#spawn()
    const dead = once(child, 'exit').then(([code, signal]) => String(signal ?? code))
    child.stdin!.write(`${JSON.stringify(order)}\n`)
    this.#next = this.#spawn()
    return { child, dead }
  }

  async end(): Promise<void> {
    const ends = [...this.#living].map((child) => once(child, 'exit'))
    for (const child of this.#living) child.kill('SIGKILL')
    await Promise.all(ends)
  }
}

async function mustDie(child: ChildProcess, dead: Promise<string>): Promise<void> {
  const timer = setTimeout(() => child.kill('SIGTERM'), patienceMillis)
  const end = await dead
  clearTimeout(timer)
  if (end !== 'SIGKILL') throw new Error(`the moment did not come; it ended with ${end}`)
}
