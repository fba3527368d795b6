import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { createRestores } from '../backups/restores.ts'
import { createSnapshots } from '../backups/snapshots.ts'
import { type AddressGuard, createAddressGuard } from '../core/access/address-guard.ts'
import { createAudit } from '../core/access/audit.ts'
import type { Faults } from '../core/faults.ts'
import { type Assembled, assemble, type WorldServices } from '../core/pipeline/assemble.ts'
import type { AccessControl, Restores } from '../core/ports.ts'
import { TaskRunner } from '../core/tasks/runner.ts'
import type { World } from '../core/world.ts'
import { storeFiles } from '../data-folder/store-files.ts'
import { requireUsable } from '../domains/admission/admission.ts'
import { createAccessControl } from '../domains/iam/access.ts'
import { type CertificateTrust, createCertificateTrust } from '../domains/iam/certificates/trust.ts'
import { createAuthenticator } from '../domains/iam/credentials.ts'
import { createServiceIdentity } from '../domains/iam/service-identity.ts'
import { Consoles } from '../domains/vmm/vm/console.ts'
import type { Drivers } from '../drivers/drivers.ts'
import { canonicalNames } from '../http/profiles/names.ts'
import { openDrivers } from './drivers.ts'
import type { InstanceOptions } from './options.ts'
import type { InstanceState } from './state.ts'

export interface AssembledInstance extends Assembled<Drivers, TaskRunner<Drivers>> {
  readonly drivers: Drivers
  readonly access: AccessControl
  readonly clientCertificates: CertificateTrust
  readonly consoles: Consoles
}

/** Starts nothing: the caller recovers tasks and starts schedules. */
export function assembleInstance(opening: InstanceOptions, state: InstanceState): AssembledInstance {
  const { config, shared, log, name, localUrl } = opening
  const { store, sealer, clock, ids, tenantId, world, machineClock } = state
  const guards = addressGuards(opening)
  const faults = opening.faults?.({ seed: world.seed, clock })
  const drivers = openDrivers({
    ...{ config, name, localUrl, world, folder: state.filesFolder, real: machineClock, faults, log },
    ...{ guard: guards.addressGuard, registrationGuard: guards.registrationGuard },
    receiverGuard: guards.receiverGuard,
  })
  const access = createAccessControl({ store })
  const clientCertificates = createCertificateTrust({ store, clock, ids, web: drivers.web })
  const audit = createAudit(store, clock, ids.of('audit'))
  const assembled = assemble<Drivers, TaskRunner<Drivers>>({
    owner: `the world ${name}`,
    ...{ tenantId, clock, ids, drivers, store, sealer, audit, admit: requireUsable, log, kinds: shared.kinds },
    services: worldServices(opening, state, { ...guards, access, clientCertificates }),
    operations: shared.domains,
    rates: {
      mode: config.rateLimits,
      anonymous: shared.anonymous,
      now: () => (config.limits === 'world-clock' ? clock : machineClock).now(),
    },
    fingerprintSalt: state.meta('fingerprint.salt', () => randomBytes(24).toString('base64url')),
    runner: (context) => taskRunner(opening, state, context, faults),
    authenticator: (context) =>
      createAuthenticator({
        ...{ store, clock, audit, real: machineClock, world: context },
        directory: drivers.directory,
        certificates: clientCertificates,
        lockout: config.lockout,
        failures: shared.failedSignIns,
      }),
    ownDispatch: (dispatch) => opening.recorder?.elements(dispatch) ?? dispatch,
    faults,
  })
  const consoles = new Consoles({ access, clock, store, drivers, secrets: assembled.world.secrets })
  return { ...assembled, drivers, access, clientCertificates, consoles }
}

interface Guards {
  readonly addressGuard: AddressGuard
  readonly registrationGuard: AddressGuard
  readonly receiverGuard: AddressGuard
}

function addressGuards({ config, log }: InstanceOptions): Guards {
  const common = { allowed: config.allowAddress, isOffline: config.offline }
  if (config.allowAddress.length > 0)
    log.warn({ allowAddress: config.allowAddress }, 'clients may make this service call addresses in these networks')
  return {
    addressGuard: createAddressGuard(common),
    registrationGuard: createAddressGuard({ ...common, isClosed: !config.allowOutbound }),
    receiverGuard: createAddressGuard({ ...common, isClosed: true }),
  }
}

function worldServices(
  opening: InstanceOptions,
  state: InstanceState,
  given: Guards & Pick<WorldServices, 'access' | 'clientCertificates'>,
): WorldServices {
  const { config, shared, options } = opening
  const { store, clock, masterKey, backupKey } = state
  const keys = { tables: shared.tables, masterKey: masterKey.key, backupKey: backupKey.key }
  return {
    ...given,
    router: shared.router,
    names: canonicalNames,
    passwords: shared.passwords,
    identity: createServiceIdentity({ store, clock }),
    serviceTls: opening.serviceTls,
    publicUrl: () => config.publicUrl ?? opening.localUrl(),
    tags: state.tags,
    snapshots: createSnapshots({
      ...keys,
      file: storeFiles(config.data).first,
      trialFile: join(config.data, 'trial.sqlite'),
      isWaitedFor: () => clock.mode === 'frozen',
    }),
    restores: openRestores(opening, keys),
    tier: config.tier,
    reservesForHa: config.haReservation === 'on',
    version: shared.version,
    dataFolder: state.filesFolder,
    limits: options.limits ?? {},
  }
}

function openRestores(
  { config, exchange }: InstanceOptions,
  keys: Pick<Parameters<typeof createRestores>[0], 'tables' | 'masterKey' | 'backupKey'>,
): Restores {
  const restores = createRestores({ ...keys, file: storeFiles(config.data).second, exchange })
  restores.drop()
  return restores
}

const taskRunner = (
  { config, options, shared, log }: InstanceOptions,
  { store, sealer, world }: InstanceState,
  context: World<Drivers>,
  faults: Faults | undefined,
): TaskRunner<Drivers> =>
  new TaskRunner({
    ...{ store, world: context, log },
    definitions: shared.domains.tasks,
    durations: config.durations,
    seal: (plain, about) => sealer.seal(plain, about),
    open: (sealed, about) => sealer.open(sealed, about),
    lostEffects: () => world.lost(),
    lostEffectsCause: () => world.whyLost(),
    beforeStep: options.beforeStep,
    faults,
  })
