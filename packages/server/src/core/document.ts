export type Document = Readonly<Record<string, unknown>>

export type AnyEntity = Document & { readonly extId: string }
