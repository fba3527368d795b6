/** A token opens a console, which ends with its VM or the rights of its user. Source: behaviour vmm.md 1.1 (generate-console-token). */
import { contract, type Operation } from '@hyperplane/contract'
import { AuthorizationPolicy } from '@hyperplane/contract/iam/authorization-policy'
import { Key } from '@hyperplane/contract/iam/key'
import { Role } from '@hyperplane/contract/iam/role'
import { User } from '@hyperplane/contract/iam/user'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { isInScope } from '../../../core/access/scope.ts'
import { ApiError } from '../../../core/api-error.ts'
import type { Caller } from '../../../core/caller.ts'
import type { ConsoleEnd, ConsoleSession, ConsoleViewer } from '../../../core/console.ts'
import type { AccessControl } from '../../../core/ports.ts'
import { type Clock, parseTime } from '../../../core/time/clock.ts'
import type { SecretReader } from '../../../core/world.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import type { Store } from '../../../store/store.ts'
import { DriverError } from '../../context.ts'
import { redeemConsoleToken, tokenHolder } from './console-token.ts'

const opening = contract
  .flatMap(({ operations }) => operations)
  .find(({ key }) => key === 'vmm.generateConsoleTokenById') as Operation

/** After a change of users, keys, policies, roles or VMs. Not at once: access control may still hold earlier decisions. */
const judgedAfterMillis = 5000

export interface ConsolesOptions {
  readonly access: Pick<AccessControl, 'scope'>
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
    const holder = await tokenHolder({ clock, secrets, store }, vmExtId, token)
    if (holder === undefined || !(await isAllowed(this.#options, holder, vmExtId)))
      throw new ApiError('CONSOLE_TOKEN_REFUSED')
    try {
      await drivers.hypervisor.openConsole(vmExtId)
    } catch (error) {
      if (!(error instanceof DriverError)) throw error
      const fault = `The host refuses the console of the VM: ${error.message}. Retry with the same token.`
      throw new ApiError('SERVICE_UNAVAILABLE', { fault }, { cause: error })
    }
    if (this.#isClosed) throw new ApiError('SERVICE_UNAVAILABLE', { fault: 'The service or its world stops.' })
    const redeemed = await store.transaction((transaction) =>
      redeemConsoleToken({ clock, secrets, store: transaction }, vmExtId, token),
    )
    if (redeemed === undefined) throw new ApiError('CONSOLE_TOKEN_REFUSED')
    const session = new Session(this.#options, vmExtId, holder, () => this.#open.delete(session))
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

async function isAllowed(options: ConsolesOptions, holder: Caller, vmExtId: string): Promise<boolean> {
  const { access, store } = options
  const user = await store.get(User, holder.extId)
  if (user?.status !== 'ACTIVE' || !(await signsIn(options, holder, user))) return false
  return isInScope(await access.scope(holder, opening), await store.get(Vm, vmExtId))
}

/** Whether the credential behind the token still permits more than a change of the password. */
async function signsIn(
  { clock, store }: ConsolesOptions,
  { credential, credentialId = '' }: Caller,
  { isForceResetPasswordEnabled }: User,
): Promise<boolean> {
  if (credential === 'basic') return isForceResetPasswordEnabled !== true
  if (credential !== 'apiKey') return true
  const key = await store.get(Key, credentialId)
  return key?.status === 'VALID' && (parseTime(key.expiryTime ?? '') ?? Infinity) > clock.now()
}

class Session implements ConsoleSession {
  readonly #options: ConsolesOptions
  readonly #vmExtId: string
  readonly #holder: Caller
  readonly #forget: () => void
  #viewer: ConsoleViewer | undefined
  #shown: string | undefined
  #ending: ConsoleEnd | undefined
  #isClosed = false
  #stopTimer = (): void => undefined
  #stopJudging: (() => void) | undefined
  #unwatch = (): void => undefined

  constructor(options: ConsolesOptions, vmExtId: string, holder: Caller, forget: () => void) {
    this.#options = options
    this.#vmExtId = vmExtId
    this.#holder = holder
    this.#forget = forget
  }

  start(viewer: ConsoleViewer): void {
    this.#viewer = viewer
    if (this.#ending !== undefined) return void viewer.ended(this.#ending)
    if (this.#isClosed) return
    const { clock, drivers, store } = this.#options
    const judge = (): void => {
      this.#stopJudging ??= clock.setTimer(judgedAfterMillis, () => {
        this.#stopJudging = undefined
        void this.#judge().catch(() => this.#isClosed || judge())
      })
    }
    const changed = (): void => void this.#update().catch(() => undefined)
    const ends = [
      store.watch([Vm], changed),
      store.watch([AuthorizationPolicy, Key, Role, User, Vm], judge),
      drivers.hypervisor.watch(changed),
    ]
    this.#unwatch = () => {
      for (const end of ends) end()
    }
    changed()
    judge()
  }

  refresh(): void {
    if (this.#shown !== undefined && !this.#isClosed) this.#viewer?.show(this.#shown)
  }

  close(): void {
    this.#isClosed = true
    this.#stopTimer()
    this.#stopJudging?.()
    this.#unwatch()
    this.#forget()
  }

  end(why: ConsoleEnd): void {
    if (this.#isClosed) return
    this.#ending = why
    this.close()
    this.#viewer?.ended(why)
  }

  async #judge(): Promise<void> {
    if (await isAllowed(this.#options, this.#holder, this.#vmExtId)) return
    this.end({ is: 'RIGHT_LOST', reason: 'the user may not open this console any more' })
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
