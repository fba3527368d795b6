import { type AnySchema, arrayOf, integer, oneOf, optional, text, uuid } from '@hyperplane/contract'

export const about = <S extends AnySchema>(description: string, schema: S): S & { readonly description: string } => ({
  ...schema,
  description,
})

export const largestCount = 1_000_000
export const largestGroup = 100_000

export const name = (maxLength = 255) => text({ minLength: 1, maxLength })
export const names = (maxItems = 256) => arrayOf(name(), { maxItems })
export const nameOrNames = () => oneOf(name(), names())
export const GiB = (maximum: number) => integer({ minimum: 1, maximum })
export const address = () => text({ minLength: 2, maxLength: 45 })
export const prefix = () => text({ minLength: 4, maxLength: 49, pattern: '^[0-9a-fA-F.:]+/[0-9]{1,3}$' })
export const macAddress = () => text({ pattern: '^([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}$' })

export const named = (maxLength = 255) => ({
  name: about(
    'Its name; of several, {n} in any text of it is the number of each, {nnn} with leading zeros.',
    name(maxLength),
  ),
  extId: optional(about('Its id. Without one it follows from the name, and is the same in every world.', uuid())),
  count: optional(about('So many of them.', integer({ minimum: 1, maximum: largestGroup }))),
})
export const description = () => optional(text({ maxLength: 1000, multiline: true }))
export const categories = () => optional(about('Categories that it carries, as key/value.', names()))
