import type { AppOptions } from '../../src/instance/app-options.ts'

/** Steps of tasks that a test makes fail or wait, each named `<task definition> <step>`. */
export class Steps {
  /** The run of this step fails. */
  failing: string | undefined
  #held: { readonly at: string; readonly until: Promise<void> } | undefined

  /** For the options of the app. */
  readonly beforeStep: NonNullable<AppOptions['beforeStep']> = (definition, step, phase) => {
    const at = `${definition} ${step}`
    if (phase === 'run' && at === this.failing) throw new Error('no')
    if (phase === 'run' && at === this.#held?.at) return this.#held.until
  }

  /** The run of this step waits. @returns ends the wait */
  hold(at: string): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#held = { at, until: promise }
    return () => {
      this.#held = undefined
      resolve()
    }
  }
}
