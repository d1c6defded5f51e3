"""Small tokenizers that are trained here, for each combination of parts that occurs."""

import io
import json
import random

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Regex, Tokenizer, models, processors, trainers
from tokenizers import normalizers as N
from tokenizers import pre_tokenizers as P

TAIL = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
CL100K = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*" + TAIL
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*" + TAIL
)
BYTES = [f"<0x{b:02X}>" for b in range(256)]


def charsmap(rule):
    """A character map of SentencePiece."""
    model, texts = io.BytesIO(), [f"some text with number {i}" for i in range(100)]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=model,
        vocab_size=40,
        normalization_rule_name=rule,
        minloglevel=2,
        hard_vocab_limit=False,
    )
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(model.getvalue())
    return N.Precompiled(proto.normalizer_spec.precompiled_charsmap)


def split(pattern):
    return P.Sequence([P.Split(Regex(pattern), "isolated"), P.ByteLevel(add_prefix_space=False, use_regex=False)])


def bpe(normalizer, pre_tokenizer, **model):
    trainer = trainers.BpeTrainer(vocab_size=1500, initial_alphabet=P.ByteLevel.alphabet(), show_progress=False)
    return Tokenizer(models.BPE()), normalizer, pre_tokenizer, trainer, model


def pieces(normalizer, pre_tokenizer):
    """A BPE of characters with fallback to bytes."""
    trainer = trainers.BpeTrainer(vocab_size=1500, special_tokens=["<unk>", *BYTES], limit_alphabet=200, show_progress=False)
    return Tokenizer(models.BPE(unk_token="<unk>")), normalizer, pre_tokenizer, trainer, {"byte_fallback": True, "fuse_unk": True}


def wordpiece(normalizer, pre_tokenizer):
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=1500, special_tokens=special, limit_alphabet=300, show_progress=False)
    return Tokenizer(models.WordPiece(unk_token="[UNK]")), normalizer, pre_tokenizer, trainer, {}


def unigram(normalizer, pre_tokenizer, fallback=False):
    trainer = trainers.UnigramTrainer(
        vocab_size=1500, special_tokens=["<unk>", *(BYTES if fallback else [])], unk_token="<unk>", show_progress=False
    )
    return Tokenizer(models.Unigram()), normalizer, pre_tokenizer, trainer, {"byte_fallback": fallback}


def combinations():
    """Names of combinations, with what makes each."""
    byte_level, metaspace = P.ByteLevel(add_prefix_space=False), P.Metaspace()
    nmt = charsmap("nmt_nfkc")
    words = P.Sequence([P.WhitespaceSplit(), metaspace])
    prepend = N.Sequence([N.Prepend("▁"), N.Replace(" ", "▁")])
    albert = N.Sequence([N.Replace("``", '"'), N.Replace("''", '"'), N.NFKD(), N.StripAccents(), N.Lowercase(), nmt])
    return {
        "gpt2": bpe(None, byte_level),
        "neox": bpe(N.NFC(), byte_level),
        "starcoder": bpe(None, P.Sequence([P.Digits(individual_digits=True), byte_level])),
        "prefix": bpe(None, P.ByteLevel(add_prefix_space=True)),
        "llama3": bpe(None, split(CL100K), ignore_merges=True),
        "qwen": bpe(N.NFC(), split(CL100K.replace("{1,3}", ""))),
        "gptoss": bpe(None, split(O200K), ignore_merges=True),
        "llama2": pieces(prepend, None),
        "mistral": pieces(None, P.Metaspace(prepend_scheme="first", split=False)),
        "gemma": pieces(N.Replace(" ", "▁"), P.Split(" ", "merged_with_previous")),
        "bert": wordpiece(N.BertNormalizer(), P.BertPreTokenizer()),
        "bert_cased": wordpiece(N.BertNormalizer(lowercase=False), P.BertPreTokenizer()),
        "bert_accents": wordpiece(N.BertNormalizer(strip_accents=False, clean_text=False), P.BertPreTokenizer()),
        "words": wordpiece(N.Sequence([N.NFD(), N.Lowercase(), N.StripAccents()]), P.Sequence([P.Whitespace(), P.Punctuation()])),
        "digits": wordpiece(N.NFKD(), P.Sequence([P.WhitespaceSplit(), P.Digits(individual_digits=True), P.Punctuation()])),
        "t5": unigram(nmt, words),
        "t5_new": unigram(N.Sequence([nmt, N.Strip(left=False), N.Replace(Regex(" {2,}"), "▁")]), metaspace),
        "xlmr": unigram(N.Sequence([nmt, N.Replace(Regex(" {2,}"), " ")]), metaspace),
        "mt5": unigram(charsmap("nfkc_cf"), words, fallback=True),
        "albert": unigram(albert, words),
        "unigram": unigram(N.NFKC(), P.Metaspace(prepend_scheme="never"), fallback=True),
    }


def trained(name, combination, texts):
    """The tokenizer.json of a combination, with some added tokens, and texts that documents should have."""
    tokenizer, normalizer, pre_tokenizer, trainer, model = combination
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, pre_tokenizer
    tokenizer.train_from_iterator(texts, trainer)
    r = random.Random(name)
    contents = ["<|end|>", "<|en", "[Tok]", "  ", "é!", "Hello", "中文", "\n\n", "wörd", "'s"]
    for content in r.sample(contents, 5):
        flags = {flag: r.randrange(3) == 0 for flag in ["single_word", "lstrip", "rstrip"]}
        token = AddedToken(content, normalized=r.randrange(4) == 0 and normalizer is not None, **flags)
        add = tokenizer.add_special_tokens if r.randrange(2) else tokenizer.add_tokens
        add([token])
    if name == "xlmr":
        tokenizer.add_special_tokens(["<s>", "</s>"])
        special = [(token, tokenizer.token_to_id(token)) for token in ["<s>", "</s>"]]
        tokenizer.post_processor = processors.TemplateProcessing("<s> $A </s>", "<s> $A </s> </s> $B </s>", special)
    file = json.loads(tokenizer.to_str())
    file["model"].update(model)
    return json.dumps(file), contents + list(r.sample(sorted(tokenizer.get_vocab()), 40))
