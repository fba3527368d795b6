import { clustermgmtErrors } from './clustermgmt/errors.ts'
import { controlErrors } from './control/errors.ts'
import { sharedErrors } from './errors.ts'
import { iamErrors } from './iam/errors.ts'
import { networkingErrors } from './networking/errors.ts'
import { platformErrors } from './platform/errors.ts'
import { storageErrors } from './storage/errors.ts'
import { vmmErrors } from './vmm/errors.ts'
import { volumesErrors } from './volumes/errors.ts'

export type { ErrorDefinition } from './operation.ts'

export const errorCatalogue = {
  ...sharedErrors,
  ...clustermgmtErrors,
  ...controlErrors,
  ...iamErrors,
  ...networkingErrors,
  ...platformErrors,
  ...storageErrors,
  ...vmmErrors,
  ...volumesErrors,
} as const

export type ErrorKey = keyof typeof errorCatalogue

type Placeholders<M extends string> = M extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Placeholders<Rest>
  : never

export type ErrorArguments<K extends ErrorKey> = Readonly<
  Record<Placeholders<(typeof errorCatalogue)[K]['message']>, string | number>
>
