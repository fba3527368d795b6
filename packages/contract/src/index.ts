/** The whole interface as data. Everything else (routes, validators, tables, documents, clients) derives from it. */
import { clustermgmt } from './clustermgmt/index.ts'
import { iam } from './iam/index.ts'
import { networking } from './networking/index.ts'
import type { Namespace } from './operation.ts'
import { platform } from './platform/index.ts'
import { storage } from './storage/index.ts'
import { vmm } from './vmm/index.ts'
import { volumes } from './volumes/index.ts'

export * from './operation.ts'
export * from './roles.ts'
export * from './schema.ts'

/** In the order of the specification. */
export const contract: readonly Namespace[] = [storage, volumes, platform, clustermgmt, iam, networking, vmm]
