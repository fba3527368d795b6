/** Probes each registration every 30 s: DISCONNECTED after three failures in a row. Source: behaviour platform.md 6. */
import { Registration, registrationOperations } from '@hyperplane/contract/platform/registration'
import { Semaphore } from '../../core/concurrency/semaphore.ts'
import { RemoteFault } from '../../drivers/remote-managers.ts'
import { implement, type Schedule, type ScheduleContext, together } from '../context.ts'
import { type RegistrationRow, registrationMetadataOf } from '../registrations/registrations.ts'
import { ownManager } from './own-manager.ts'
import { RegistrationAttempt } from './registration-attempt.ts'

const probeSeconds = 30
const missesUntilDisconnected = 3
const probesAtOnce = 16

const probeRegistrations: Schedule = {
  name: 'platform.probe-registrations',
  everySeconds: probeSeconds,
  watch: ({ drivers, store }, changed) =>
    together(drivers.remoteManagers.watch(changed), store.watch([Registration], changed)),
  async run(ctx) {
    const registrations = await ctx.store.find(Registration)
    if (registrations.length === 0) return
    const hasUnknown = registrations.some(({ address }) => !ctx.drivers.remoteManagers.knows(address as string))
    const manager = await ownManager(ctx.store)
    const slots = new Semaphore(probesAtOnce)
    const probed = await Promise.all(
      registrations.map((row) => slots.use(async () => [row, await faultOf(ctx, row, manager)] as const)),
    )
    const changed = probed.flatMap(([row, fault]) => {
      const changes = changesOf(row, fault)
      return changes === undefined ? [] : [[row.extId, changes] as const]
    })
    if (changed.length > 0)
      await ctx.store.transaction(async (transaction) => {
        for (const [extId, changes] of changed) {
          if (await transaction.has(Registration, extId)) await transaction.observe(Registration, extId, changes)
        }
      })
    return hasUnknown ? 'again' : undefined
  },
}

export const registration = implement(
  registrationOperations,
  {},
  { schedules: [probeRegistrations], records: [RegistrationAttempt] },
)

async function faultOf(
  ctx: ScheduleContext,
  row: RegistrationRow,
  manager: { readonly extId: string },
): Promise<string | undefined> {
  const place = { address: row.address as string, certificate: row.certificate as string }
  const key = ctx.secrets.open(Registration.kind, row.extId, 'trustKey', row.trustKey)
  try {
    await ctx.drivers.remoteManagers.probe(place, key, row.remoteClusterExtId as string, manager)
    return undefined
  } catch (error) {
    if (error instanceof RemoteFault) return error.message
    throw error
  }
}

function changesOf(row: RegistrationRow, fault: string | undefined): Partial<RegistrationRow> | undefined {
  const { misses = 0, connectivityStatus } = row
  const attributes = Object.fromEntries(
    (row.metadata?.attributes ?? []).map(({ name, value }) => [name as string, String(value)]),
  )
  if (fault === undefined) {
    if (connectivityStatus === 'CONNECTED' && misses === 0) return undefined
    const { disconnectedBecause: _, ...others } = attributes
    return { connectivityStatus: 'CONNECTED', misses: 0, metadata: registrationMetadataOf(others) }
  }
  const isGone = misses + 1 >= missesUntilDisconnected
  if (isGone && connectivityStatus === 'DISCONNECTED' && attributes['disconnectedBecause'] === fault) return undefined
  return {
    misses: Math.min(misses + 1, missesUntilDisconnected),
    ...(isGone
      ? {
          connectivityStatus: 'DISCONNECTED',
          metadata: registrationMetadataOf({ ...attributes, disconnectedBecause: fault }),
        }
      : {}),
  }
}
