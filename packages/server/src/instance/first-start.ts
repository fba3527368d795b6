import { generatedPassword } from '../core/access/passwords.ts'
import { formatTime } from '../core/time/clock.ts'
import { seedWorld } from '../seeds/seed-world.ts'
import type { AssembledInstance } from './assemble.ts'
import { managerIdOf } from './identity.ts'
import type { InstanceOptions } from './options.ts'
import type { InstanceState } from './state.ts'

/** @returns lines for the operator: generated keys and passwords @throws SeedRefusal, and the store is empty as before */
export async function prepareStart(
  opening: InstanceOptions,
  state: InstanceState,
  assembled: AssembledInstance,
): Promise<readonly string[]> {
  const { store, backupKey, plan } = state
  const banner: string[] = []
  if (backupKey.isNew) {
    const warning = 'shown once; keep a copy elsewhere: without it no backup can be restored'
    banner.push(`Backup key   ${backupKey.key.toString('base64')}   (${warning})`)
  }
  if (plan !== undefined) {
    const adminPasswordHash = opening.adminPasswordHash ?? (await hashOfNewPassword(opening, banner))
    const filled = (): void => store.setMetas({ seeded: formatTime(state.machineClock.now()), opened: '0' })
    await fill(opening, state, assembled, { plan, adminPasswordHash, filled })
    await opening.whenNew?.(store)
  }
  store.setMeta('opened', String(state.timesOpened + 1))
  return banner
}

function fill(
  { config, name, shared }: InstanceOptions,
  { store, world, clock, tenantId, filesFolder, backupKey, sealer }: InstanceState,
  { drivers, world: { services, secrets } }: AssembledInstance,
  given: Pick<Parameters<typeof seedWorld>[0], 'plan' | 'adminPasswordHash' | 'filled'>,
): Promise<void> {
  const { tables, kinds, version } = shared
  return seedWorld({
    ...given,
    ...{ store, world, drivers, clock, tenantId, version, tier: config.tier, folder: filesFolder },
    random: world.seed,
    managerExtId: managerIdOf(world.seed, config, name),
    backup: { key: backupKey.key, tables, open: (sealed, about) => sealer.open(sealed, about) },
    machinery: { services, secrets, kinds },
  })
}

/** Only a generated password is shown in the banner. */
async function hashOfNewPassword({ config, shared }: InstanceOptions, banner: string[]): Promise<string> {
  const password = config.adminPassword ?? generatedPassword()
  if (config.adminPassword === undefined) banner.push(`Password     ${password}   (shown once; kept only as a hash)`)
  return shared.passwords.hash(password)
}
