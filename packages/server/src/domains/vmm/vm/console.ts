/** Open consoles of VMs. A token opens one; it ends with its VM. Source: behaviour vmm.md 1.1 (generate-console-token). */

import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError } from '../../../core/api-error.ts'
import type { ConsoleEnd, ConsoleSession, ConsoleViewer } from '../../../core/console.ts'
import type { Clock } from '../../../core/time/clock.ts'
import type { SecretReader } from '../../../core/world.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import type { Store } from '../../../store/store.ts'
import { DriverError } from '../../context.ts'
import { isConsoleToken, redeemConsoleToken } from './console-token.ts'

export interface ConsolesOptions {
  readonly clock: Pick<Clock, 'iso' | 'now' | 'setTimer'>
  readonly secrets: SecretReader
  readonly store: Store
  readonly drivers: Pick<Drivers, 'hypervisor'>
}

export class Consoles {
  readonly #options: ConsolesOptions
  readonly #open = new Set<Session>()
  #isClosed = false

  constructor(options: ConsolesOptions) {
    this.#options = options
  }

  /** A host that refuses does not use the token up. @throws ApiError 401 for a token that opens nothing; 503 */
  async open(vmExtId: string, token: string): Promise<ConsoleSession> {
    const { clock, drivers, secrets, store } = this.#options
    if (!(await isConsoleToken({ clock, secrets, store }, vmExtId, token))) throw new ApiError('CONSOLE_TOKEN_REFUSED')
    try {
      await drivers.hypervisor.openConsole(vmExtId)
    } catch (error) {
      if (!(error instanceof DriverError)) throw error
      const fault = `The host refuses the console of the VM: ${error.message}. Retry with the same token.`
      throw new ApiError('SERVICE_UNAVAILABLE', { fault }, { cause: error })
    }
    if (this.#isClosed) throw new ApiError('SERVICE_UNAVAILABLE', { fault: 'The service or its world stops.' })
    const isRedeemed = await store.transaction((transaction) =>
      redeemConsoleToken({ clock, secrets, store: transaction }, vmExtId, token),
    )
    if (!isRedeemed) throw new ApiError('CONSOLE_TOKEN_REFUSED')
    const session = new Session(this.#options, vmExtId, () => this.#open.delete(session))
    this.#open.add(session)
    if (this.#isClosed) session.end(stops)
    return session
  }

  close(): void {
    this.#isClosed = true
    for (const session of this.#open) session.end(stops)
  }
}

const stops: ConsoleEnd = { is: 'SERVICE_STOPS', reason: 'the service or its world stops' }

class Session implements ConsoleSession {
  readonly #options: ConsolesOptions
  readonly #vmExtId: string
  readonly #forget: () => void
  #viewer: ConsoleViewer | undefined
  #shown: string | undefined
  #ending: ConsoleEnd | undefined
  #isClosed = false
  #stopTimer = (): void => undefined
  #unwatch = (): void => undefined

  constructor(options: ConsolesOptions, vmExtId: string, forget: () => void) {
    this.#options = options
    this.#vmExtId = vmExtId
    this.#forget = forget
  }

  start(viewer: ConsoleViewer): void {
    this.#viewer = viewer
    if (this.#ending !== undefined) return void viewer.ended(this.#ending)
    if (this.#isClosed) return
    const { drivers, store } = this.#options
    const changed = (): void => void this.#update().catch(() => undefined)
    const ends = [store.watch([Vm], changed), drivers.hypervisor.watch(changed)]
    this.#unwatch = () => {
      for (const end of ends) end()
    }
    changed()
  }

  refresh(): void {
    if (this.#shown !== undefined && !this.#isClosed) this.#viewer?.show(this.#shown)
  }

  close(): void {
    this.#isClosed = true
    this.#stopTimer()
    this.#unwatch()
    this.#forget()
  }

  end(why: ConsoleEnd): void {
    if (this.#isClosed) return
    this.#ending = why
    this.close()
    this.#viewer?.ended(why)
  }

  async #update(): Promise<void> {
    const { clock, drivers, store } = this.#options
    const vm = await store.get(Vm, this.#vmExtId)
    if (this.#isClosed) return
    if (vm?.powerState !== 'ON') {
      const reason = vm === undefined ? 'the VM was deleted' : `the VM is ${vm.powerState}`
      return this.end({ is: 'MACHINE_STOPPED', reason })
    }
    this.#stopTimer()
    const { lines, changesAt } = drivers.hypervisor.screenOf(this.#vmExtId) ?? { lines: [] }
    const screen = lines.join('\n')
    if (changesAt !== undefined)
      this.#stopTimer = clock.setTimer(changesAt - clock.now(), () => void this.#update().catch(() => undefined))
    if (screen === this.#shown) return
    this.#shown = screen
    this.#viewer?.show(screen)
  }
}
